"""The documents say what is: settings as declared, links that lead somewhere, nothing of one machine."""

import re
from pathlib import Path

import pytest

from controlplane.launcher.management.commands.access_rules_document import access_rules_document
from controlplane.launcher.management.commands.settings_document import settings_document

ROOT = Path(__file__).resolve().parent.parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*/*.md")])
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
# The page `/work/` and what is below `/api/work/` are addresses of ours.
MACHINE_PATH = re.compile(r"(?<!/api)/(?:work|tmp|root|home)/(?!`)")


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _anchors(document: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", document.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


def test_settings_page_equals_the_declarations() -> None:
    assert (ROOT / "docs/settings.md").read_text() == settings_document(), "run manage.py settings_document"


def test_page_of_access_rules_equals_the_table() -> None:
    assert (ROOT / "docs/access-rules.md").read_text() == access_rules_document(), "run manage.py access_rules_document"


@pytest.mark.parametrize("document", DOCUMENTS, ids=_name)
def test_links_of_a_document_lead_somewhere(document: Path) -> None:
    broken = []
    for link in LINK.findall(document.read_text()):
        if "://" in link or link.startswith("mailto:"):
            continue
        path, _, anchor = link.partition("#")
        target = document.parent / path if path else document
        if not target.exists() or (anchor and anchor not in _anchors(target)):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=_name)
def test_document_names_no_path_of_one_machine(document: Path) -> None:
    assert MACHINE_PATH.findall(document.read_text()) == []
