"""Hosts of older releases whose names differ in capitals alone: the migration names them and says what to do."""

import pytest
from django.apps.registry import Apps
from django.core.management.base import CommandError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

pytestmark = pytest.mark.usefixtures("empty_database")

BEFORE, AFTER = ("scheduling", "0018_service_down_noted_at"), ("scheduling", "0019_host_names_whatever_case")


@pytest.fixture
def old() -> Apps:
    """The models as they were before, without hosts."""
    executor = MigrationExecutor(connection)
    executor.migrate([BEFORE])
    return executor.loader.project_state([BEFORE]).apps


def test_pairs_are_named_with_what_to_do_and_nothing_is_done(old: Apps) -> None:
    service = old.get_model("scheduling", "Service")
    for host in ("HV-1", "hv-1", "hv-2", "Hv-3"):
        service.objects.create(host=host, binary="nova-compute")
    mapping, cell = old.get_model("scheduling", "HostMapping"), old.get_model("scheduling", "Cell").objects.create()
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
