"""Foreign keys lead to the same app or to one below it, and never from one scope to the other.

Import contracts do not see keys that are written as text, so the app registry is walked.
"""

from collections.abc import Iterator

import pytest
from django.apps import apps
from django.db import models

LAYERS = ("dashboard", "computeagent", "servers", "scheduling", "placement", "identity", "infra")

# Rows that live in a cell's own database; everything else of ours is in the API's.
CELL_SCOPE = {
    "scheduling.HostUsageSample",
    "scheduling.BuildFailures",
    "scheduling.Service",
    "scheduling.ComputeNode",
    "scheduling.PciDevice",
    "scheduling.TopologyClaim",
    "servers.Instance",
    "servers.InstanceTag",
    "servers.InstanceAction",
    "servers.InstanceActionEvent",
    "servers.InstanceFault",
    "servers.AttemptRecord",
    "servers.ConsoleLog",
    "servers.GuestPassword",
    "servers.BlockDeviceMapping",
    "servers.OrphanGuest",
    "servers.WaitingAction",
}


def _ours() -> Iterator[type[models.Model]]:
    return (model for model in apps.get_models() if model._meta.app_label in LAYERS)


def _keys() -> list[tuple[type[models.Model], models.Field]]:
    return [
        (model, field)
        for model in _ours()
        for field in model._meta.get_fields()
        if field.concrete and field.is_relation
    ]


KEYS = _keys()
IDS = [f"{model._meta.label}.{field.name}" for model, field in KEYS]


def _scope(model: type[models.Model]) -> str:
    return "cell" if model._meta.label in CELL_SCOPE else "API"


def test_models_of_the_cell_scope_exist() -> None:
    assert {model._meta.label for model in _ours()} >= CELL_SCOPE


def test_models_that_say_their_scope_say_the_right_one() -> None:
    for model in _ours():
        said = (model.__doc__ or "").partition(" scope.")[0]
        if said in {"Cell", "API"}:
            assert said.lower() == _scope(model).lower(), model._meta.label


@pytest.mark.parametrize(("model", "field"), KEYS, ids=IDS)
def test_foreign_key_leads_to_its_own_app_or_downwards(model: type[models.Model], field: models.Field) -> None:
    target = field.related_model._meta.app_label
    if target in LAYERS:
        assert LAYERS.index(model._meta.app_label) <= LAYERS.index(target)


@pytest.mark.parametrize(("model", "field"), KEYS, ids=IDS)
def test_foreign_key_stays_in_its_scope(model: type[models.Model], field: models.Field) -> None:
    if field.related_model._meta.app_label in LAYERS:
        assert _scope(model) == _scope(field.related_model)
