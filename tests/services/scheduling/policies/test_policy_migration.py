"""Versions of policies from before they had a life: the migration gives each the state it was in."""

from typing import Any

import pytest
from django.apps.registry import Apps
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

pytestmark = pytest.mark.usefixtures("empty_database")

BEFORE, AFTER = ("scheduling", "0001_initial"), ("scheduling", "0002_policy_lifecycle")


def at(target: tuple[str, str]) -> Apps:
    """The models as they were at that migration, on a database that is there."""
    executor = MigrationExecutor(connection)
    executor.migrate([target])
    return executor.loader.project_state([target]).apps


def versions(apps: Apps) -> Any:
    return apps.get_model("scheduling", "SchedulerPolicy").objects


@pytest.fixture
def old() -> Any:
    """The old form, with nothing in it."""
    return versions(at(BEFORE))


def test_active_version_stays_active_and_others_are_retired(old: Any) -> None:
    for number, is_active in ((1, False), (2, True)):
        old.create(version=number, active=is_active, body={})
    rows = versions(at(AFTER)).order_by("version")
    assert list(rows.values_list("version", "state", "sealed")) == [(1, "retired", True), (2, "active", True)]
    assert all(row.activated_at is not None for row in rows)
    assert [row.retired_at is None for row in rows] == [False, True]


def test_way_back_keeps_which_one_is_active(old: Any) -> None:
    old.create(version=1, active=True, body={})
    versions(at(AFTER)).create(version=2, state="draft", body={})
    assert list(versions(at(BEFORE)).order_by("version").values_list("version", "active")) == [(1, True), (2, False)]
