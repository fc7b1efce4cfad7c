"""Hosts of older releases whose names differ in capitals alone: the migration names them and says what to do."""

from collections.abc import Iterator

import pytest
from django.apps.registry import Apps
from django.core.management.base import CommandError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from scheduling.fleet.services.change_triggers import fleet_triggers_drop_before_migrate, fleet_triggers_ensure

pytestmark = pytest.mark.django_db(transaction=True)

BEFORE, AFTER = ("scheduling", "0018_service_down_noted_at"), ("scheduling", "0019_host_names_whatever_case")


@pytest.fixture
def old() -> Iterator[Apps]:
    """The models as they were before, without hosts; afterwards the database is as it was."""
    executor = MigrationExecutor(connection)
    newest = executor.loader.graph.leaf_nodes()
    # The executor sends no signals, the command does.
    fleet_triggers_drop_before_migrate(using=connection.alias, plan=newest)
    try:
        executor.migrate([BEFORE])
        yield executor.loader.project_state([BEFORE]).apps
    finally:
        MigrationExecutor(connection).migrate(newest)
        fleet_triggers_ensure()


def test_pairs_are_named_with_what_to_do_and_nothing_is_done(old: Apps) -> None:
    service = old.get_model("scheduling", "Service")
    for host in ("HV-1", "hv-1", "hv-2", "Hv-3"):
        service.objects.create(host=host, binary="nova-compute")
    mapping, cell = old.get_model("scheduling", "HostMapping"), old.get_model("scheduling", "Cell").objects.first()
    for host in ("HV-1", "hv-1", "Hv-3", "hv-3"):
        mapping.objects.create(host=host, cell=cell)

    with pytest.raises(CommandError, match=r"capitals alone: HV-1 and hv-1; Hv-3 and hv-3\. .*host_delete --host NAME"):
        MigrationExecutor(connection).migrate([AFTER])

    assert AFTER not in MigrationExecutor(connection).loader.applied_migrations
    for rows in (service, mapping):
        rows.objects.filter(host__in=["hv-1", "hv-3"]).delete()
    MigrationExecutor(connection).migrate([AFTER])
    for rows in (service, mapping):
        rows.objects.all().delete()
