"""Bulk actions of the Django admin: each names who may use it, and what interrupts or cannot be undone asks first."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin import autodiscover

from controlplane.infra.admin.confirmation import asks_first

autodiscover()
LOOKING = {"view"}
IRREVERSIBLE = re.compile(
    r"delete|detach|release|remove|revoke|stop|reboot|pause|suspend|shelve|force|reset_to|defaults|unrescue"
    r"|cancel|free|move|take_back"
)
UNDOES = {"force_down_end", "unpause", "unshelve"}


def _actions() -> Iterator[tuple[str, str, Any]]:
    for model, model_admin in admin.site._registry.items():
        for function, name, _ in model_admin._get_base_actions():
            yield f"{model._meta.label}.{name}", name, function


ACTIONS = sorted(_actions(), key=lambda entry: entry[0])


def test_walk_finds_actions() -> None:
    assert {"servers.Instance.delete_instances", "identity.Token.revoke"} <= {label for label, _, _ in ACTIONS}


@pytest.mark.parametrize(("label", "name", "function"), ACTIONS, ids=[label for label, _, _ in ACTIONS])
def test_action_names_a_permission_beyond_looking(label: str, name: str, function: Any) -> None:
    assert set(getattr(function, "allowed_permissions", ())) - LOOKING != set()


@pytest.mark.parametrize(("label", "name", "function"), ACTIONS, ids=[label for label, _, _ in ACTIONS])
def test_action_that_cannot_be_undone_asks_first(label: str, name: str, function: Any) -> None:
    assert asks_first(function) == bool(IRREVERSIBLE.search(name) and name not in UNDOES)
