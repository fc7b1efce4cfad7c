"""Rows from before work, heals and notifications were apps of their own: the migrations carry them over."""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from controlplane.infra.db import now_plus
from controlplane.notifications.models import Webhook
from controlplane.work.models import Heal, Work
from scheduling.fleet.services.change_triggers import fleet_triggers_drop_before_migrate, fleet_triggers_ensure

# Every migration there is, back and forth: half a minute.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]

BEFORE = [("infra", "0004_heals"), ("servers", "0008_drift_findings")]


@pytest.fixture
def before() -> Iterator[Any]:
    """The apps as they were; afterwards the database is as it was."""
    newest = MigrationExecutor(connection).loader.graph.leaf_nodes()
    # The executor sends no signals, the command does.
    fleet_triggers_drop_before_migrate(using=connection.alias, plan=newest)
    executor = MigrationExecutor(connection)
    executor.migrate(BEFORE)
    try:
        yield executor.loader.project_state(BEFORE).apps
    finally:
        MigrationExecutor(connection).migrate(newest)
        fleet_triggers_ensure()


def test_rows_of_the_old_tables_are_in_the_new_ones(before: Any) -> None:
    work, heal, hook = (before.get_model("infra", name) for name in ("Work", "Heal", "Webhook"))
    made = work.objects.create(queue="q", kind="build", subject=uuid.uuid4(), deadline_at=now_plus(900))
    heal.objects.create(kind="strange_guest", found="It was there.", done="It went.")
    hook.objects.create(name="hook", url="https://example.org/hook")
    MigrationExecutor(connection).migrate(MigrationExecutor(connection).loader.graph.leaf_nodes())
    assert Work.objects.get().pk == made.pk
    assert Heal.objects.get().kind == "orphan_guest"
    assert Webhook.objects.get().name == "hook"
