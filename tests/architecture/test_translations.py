"""Every text of a page is in Chinese too, and what programs load is what was translated."""

import gettext
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LOCALE = Path("locale/zh_Hans/LC_MESSAGES")
FOLDERS = ("controlplane", "placement", "scheduling", "servers", "computeagent", "templates", "static")
DOMAINS = ["django", "djangojs"]

pytestmark = pytest.mark.skipif(not shutil.which("xgettext"), reason="needs gettext")


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which all texts were collected anew, beside what is translated."""
    there = tmp_path_factory.mktemp("messages")
    for name in FOLDERS:
        (there / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "locale", there / "locale")
    wanted = [
        "--locale=zh_Hans",
        "--no-location",
        "--no-wrap",
        "--no-obsolete",
        "--symlinks",
        "--ignore=static/vendor/*",
    ]
    for domain in DOMAINS:
        subprocess.run(
            [sys.executable, "-m", "django", "makemessages", f"--domain={domain}", *wanted],
            cwd=there,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
            check=True,
            capture_output=True,
        )
    return there


def _texts(path: Path, *chosen: str) -> str:
    """The entries of a file that were chosen, in gettext's own form."""
    done = subprocess.run(["msgattrib", "--no-obsolete", *chosen, path], capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.parametrize("domain", DOMAINS)
def test_every_text_is_translated(collected: Path, domain: str) -> None:
    there = collected / LOCALE / f"{domain}.po"
    if not there.exists():
        pytest.skip("no text of this kind")
    assert not _texts(there, "--untranslated"), "run `make messages` and translate these"
    assert not _texts(there, "--only-fuzzy"), "these were guessed from others: read them, and take the mark away"


@pytest.mark.parametrize("domain", DOMAINS)
def test_what_is_loaded_is_what_was_translated(domain: str, tmp_path: Path) -> None:
    """`make messages` also compiles. Places for values in a translation are those of the text."""
    source = ROOT / LOCALE / f"{domain}.po"
    if not source.exists():
        pytest.skip("no text of this kind")
    compiled = tmp_path / "compiled.mo"
    subprocess.run(["msgfmt", "--check", "-o", compiled, source], check=True)
    assert _catalog(compiled) == _catalog(ROOT / LOCALE / f"{domain}.mo")


def _catalog(path: Path) -> dict[str, str]:
    with path.open("rb") as file:
        return vars(gettext.GNUTranslations(file))["_catalog"]
