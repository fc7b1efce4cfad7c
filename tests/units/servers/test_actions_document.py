"""The page of actions says what the tables say, and each test that it names is there."""

import re
from pathlib import Path

import pytest

from servers.instances.actions.shown_by import SHOWN_BY
from servers.instances.actions.table import ACTIONS
from servers.management.commands.actions_document import DOCUMENT, actions_document

ROOT = Path(__file__).resolve().parents[3]


def test_page_equals_the_tables() -> None:
    assert (ROOT / DOCUMENT).read_text() == actions_document(), "run manage.py actions_document"


def test_each_action_is_shown_by_a_test() -> None:
    assert list(SHOWN_BY) == list(ACTIONS)


@pytest.mark.parametrize("test", sorted({shown.test for shown in SHOWN_BY.values()}))
def test_each_test_that_is_named_exists(test: str) -> None:
    path, _, name = test.partition("::")
    assert re.search(rf"^def {name}\(", (ROOT / "tests" / path).read_text(), flags=re.MULTILINE)
