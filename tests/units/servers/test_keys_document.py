"""The page of extra specs and image properties says what the tables say."""

from pathlib import Path

from servers.catalog.domain.extra_specs import EXTRA_SPEC_RULES
from servers.images.domain.image_properties import PROPERTY_RULES
from servers.management.commands.keys_document import DOCUMENT, keys_document

ROOT = Path(__file__).resolve().parents[3]


def test_page_equals_the_tables():
    assert (ROOT / DOCUMENT).read_text() == keys_document(), "run manage.py keys_document"


def test_page_names_each_key_once():
    lines = keys_document().splitlines()
    for rule in (*EXTRA_SPEC_RULES, *PROPERTY_RULES):
        assert sum(line.startswith(f"| `{rule.key}` |") for line in lines) == 1
