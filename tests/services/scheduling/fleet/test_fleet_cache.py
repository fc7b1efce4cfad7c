"""The fleet that a process keeps: every kind of change is seen by the next look, and what comes of it equals what
would be read anew."""

import threading
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models import F

from placement.domain import Claim
from placement.services import allocations_claim, allocations_free, provider_traits_set
from scheduling.decisions.ledger.fleet_columns import same_column, table_to_columns
from scheduling.domain.hosts.host_table import HostTable
from scheduling.engine import host_table_from_rows
from scheduling.fleet.cache.changes import ChangeFeed
from scheduling.fleet.cache.fleet_cache import FleetCache, fleet_cache
from scheduling.fleet.cache.host_rows import aggregate_rows, compute_nodes, host_rows
from scheduling.fleet.domain.cells import CELL1_ID
from scheduling.fleet.facts import FleetFacts, HostInstances
from scheduling.fleet.selectors.candidates import placement_view, request_read
from scheduling.fleet.services.aggregates import (
    aggregate_create,
    aggregate_delete,
    aggregate_host_add,
    aggregate_host_remove,
    aggregate_update,
)
from scheduling.fleet.services.build_failures import build_failure_count
from scheduling.fleet.services.cells import cell_set_disabled
from scheduling.fleet.services.change_triggers import (
    fleet_changes_prune,
    fleet_triggers_drop_before_migrate,
    fleet_triggers_ensure,
)
from scheduling.fleet.services.heartbeats import service_heartbeat
from scheduling.fleet.services.hosts import host_delete, host_register
from scheduling.fleet.services.service_states import service_disable, service_enable, service_force_down
from scheduling.models import Aggregate, Cell, ComputeNode, FleetChange, HostMapping, Service
from scheduling.models.change_triggers import triggers_are_whole, triggers_present, triggers_wanted
from scheduling.policies.selectors.policies import policy_active, shadow_is_known
from scheduling.policies.services.policies import policy_create
from tests.fixtures.patience import PATIENCE_S, eventually
from tests.fixtures.queries import undisturbed_queries
from tests.services.scheduling.fleet.fleet_world import NO_FACTS, PROJECT, USER, fleet, report, request

pytestmark = pytest.mark.django_db(transaction=True)

HOST = "cmp-01"


def table_read(cache: FleetCache | None = None, facts: FleetFacts = NO_FACTS, max_age_s: float = 0.0) -> HostTable:
    """The table of one look."""
    cache = cache or fleet_cache()
    with cache.refreshed(cache.poll_changes(), max_age_s=max_age_s):
        return cache.table(placement_view(), facts).table


def read_anew(facts: FleetFacts = NO_FACTS) -> HostTable:
    return host_table_from_rows(host_rows(nodes=compute_nodes(), fleet=placement_view(), facts=facts), aggregate_rows())


def differing(one: HostTable, other: HostTable) -> list[str]:
    mine, others = table_to_columns(one), table_to_columns(other)
    return [name for name in sorted({*mine, *others}) if not same_column(mine.get(name), others.get(name))]


def queries_of_a_read() -> int:
    return undisturbed_queries(table_read, tries=20)


def node() -> ComputeNode:
    return ComputeNode.objects.get(host=HOST)


def silence(hosts: Any = (HOST,)) -> None:
    Service.objects.filter(host__in=hosts).update(last_seen_up=F("last_seen_up") - timedelta(hours=1))


def move_to_other_cell() -> None:
    other = Cell.objects.create(name="cell2")
    HostMapping.objects.filter(host=HOST).update(cell=other)


def claim() -> None:
    allocations_claim([Claim(uuid.uuid4(), PROJECT, USER, {node().id: {"VCPU": 1, "MEMORY_MB": 512}})])


def rack(**metadata: str) -> Aggregate:
    made = aggregate_create(name="rack", metadata=metadata)
    aggregate_host_add(aggregate_id=made.id, host=HOST)
    return made


CHANGES: dict[str, Callable[[], object]] = {
    "node reports": lambda: host_register(host=HOST, report=report("node-01", stats={"load": 3}, disk_gib=50)),
    "node row written": lambda: ComputeNode.objects.filter(host=HOST).update(
        pci_pools=[{"count": 1}], numa_topology={"cells": []}
    ),
    "build failed": lambda: build_failure_count(host=HOST),
    "disabled": lambda: service_disable(host=HOST, reason="new disks"),
    "forced down": lambda: service_force_down(host=HOST, forced_down=True),
    "heartbeats stop": silence,
    "never seen": lambda: Service.objects.filter(host=HOST).update(last_seen_up=None),
    "service upgraded": lambda: Service.objects.update(version=7),
    "aggregate with a member": lambda: rack(availability_zone="az1"),
    "host mapped elsewhere": move_to_other_cell,
    "mapping gone": lambda: HostMapping.objects.filter(host=HOST).delete(),
    "cell disabled": lambda: cell_set_disabled(cell_id=CELL1_ID, disabled=True),
    "new host": lambda: host_register(host="cmp-00a", report=report("node-00a")),
    "host deleted": lambda: host_delete(host=HOST),
    "claim": claim,
    "trait": lambda: provider_traits_set(node().id, ["HW_CPU_X86_AVX512F"]),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_change_is_seen_by_the_next_look(change: Callable[[], object]) -> None:
    fleet(3)
    before = table_read()
    change()
    assert differing(before, table_read()) != []
    # "last seen 3600 s ago" may turn to 3601 between the two.
    assert [] in [differing(table_read(), read_anew()) for _ in range(3)]


def test_changes_that_are_taken_back_are_seen_too() -> None:
    fleet(3)
    made = rack(ssd="true")
    service_disable(host=HOST)
    table_read()
    service_enable(host=HOST)
    aggregate_update(aggregate_id=made.id, metadata={"ssd": "false"})
    assert differing(table_read(), read_anew()) == []
    aggregate_host_remove(aggregate_id=made.id, host=HOST)
    assert differing(table_read(), read_anew()) == []
    aggregate_delete(aggregate_id=made.id)
    assert differing(table_read(), read_anew()) == []


def test_host_that_sends_heartbeats_again_is_up_at_the_next_read() -> None:
    fleet(2)
    silence()
    assert table_read().up.tolist() == [True, False]
    service_heartbeat(host=HOST)
    assert table_read().up.tolist() == [True, True]


DOWN_S = 2.0


def test_host_goes_down_at_its_time_without_any_change(settings: Any) -> None:
    fleet(2)
    settings.KILONOVA = {**settings.KILONOVA, "SERVICE_DOWN_TIME_S": DOWN_S}
    service_heartbeat(host=HOST)
    assert table_read().up.tolist()[1] is True
    threading.Event().wait(DOWN_S + 0.1)
    table = table_read()
    assert table.up.tolist() == [False, False]
    assert table.status_detail[1].startswith("last seen ")


def test_heartbeats_that_were_not_read_yet_count(settings: Any) -> None:
    fleet(2)
    settings.KILONOVA = {**settings.KILONOVA, "SERVICE_DOWN_TIME_S": DOWN_S}
    table_read()
    threading.Event().wait(DOWN_S + 0.1)
    service_heartbeat(host=HOST)
    assert table_read().up.tolist() == [False, True]


def test_heartbeats_are_no_changes() -> None:
    fleet(2)
    before = FleetChange.objects.count()
    service_heartbeat(host=HOST)
    assert FleetChange.objects.count() == before


def test_facts_of_instances_are_those_that_are_told() -> None:
    fleet(2)
    facts = FleetFacts({HOST: HostInstances(frozenset({"i"}), num_instances=3, num_io_ops=1)}, {"node-01": "trusted"})
    table_read()
    assert differing(table_read(facts=facts), read_anew(facts)) == []
    assert differing(table_read(), read_anew()) == []


def test_unchanged_fleet_is_the_same_table() -> None:
    fleet(2)
    assert table_read() is table_read()


def test_number_of_queries_does_not_grow_with_the_fleet_or_its_changes() -> None:
    fleet(2)
    few = queries_of_a_read()
    fleet(12)
    assert queries_of_a_read() == few


def test_own_uncommitted_change_is_seen_and_forgotten_when_rolled_back() -> None:
    fleet(2)
    table_read()
    with transaction.atomic():
        service_disable(host=HOST)
        assert table_read().enabled.tolist() == [True, False]
        transaction.set_rollback(True)
    assert differing(table_read(), read_anew()) == []
    assert table_read().enabled.tolist() == [True, True]


def test_first_look_inside_a_transaction_that_is_rolled_back_leaves_nothing_behind() -> None:
    fleet(1)
    cache = FleetCache(ChangeFeed())
    with transaction.atomic():
        host_register(host="cmp-09", report=report("node-09"))
        assert len(table_read(cache)) == 2
        transaction.set_rollback(True)
    assert differing(table_read(cache), read_anew()) == []


def test_view_may_be_as_old_as_is_allowed() -> None:
    fleet(2)
    cache = FleetCache(ChangeFeed())
    table_read(cache)
    service_disable(host=HOST)
    assert table_read(cache, max_age_s=60.0).enabled.tolist() == [True, True]
    assert table_read(cache).enabled.tolist() == [True, False]


def test_room_is_that_of_now_however_old_the_view_may_be() -> None:
    fleet(2)
    table_read()
    claim()
    poll = fleet_cache().poll_changes()
    read = request_read(request=request(), policy=policy_active(), facts=NO_FACTS, poll=poll, max_age_s=60.0)
    assert read.table.vcpus_used.tolist() == [0, 1]


def test_every_kind_is_told_after_the_tables_were_emptied() -> None:
    fleet(2)
    table_read()
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("TRUNCATE scheduling_computenode, scheduling_service, scheduling_hostmapping CASCADE")
        else:
            for table in ("scheduling_computenode", "scheduling_service", "scheduling_hostmapping"):
                cursor.execute(f"DELETE FROM {table}")  # noqa: S608
    assert len(table_read()) == 0


def test_policies_are_those_of_now() -> None:
    assert policy_active().version == "defaults"
    policy_create(body={"weighers": {"RAMWeigher": -1.0}}, activate=True)
    assert policy_active().version == "default-v1"
    assert not shadow_is_known()


def all_pruned() -> bool:
    """Prune as if an hour had passed. A transaction that is open in any database of the server keeps what is newer."""
    fleet_changes_prune()
    FleetChange.objects.filter(kind="horizon").update(at=F("at") - timedelta(hours=1))
    fleet_changes_prune()
    return not FleetChange.objects.exclude(kind="horizon").exists()


def test_what_all_readers_have_seen_is_pruned() -> None:
    fleet(2)
    cache = FleetCache(ChangeFeed())
    table_read(cache)
    eventually(all_pruned)
    service_disable(host=HOST)
    assert differing(table_read(cache), read_anew()) == []


def test_missing_triggers_are_noticed_and_made_again() -> None:
    fleet(2)
    trigger = next(one for one in triggers_wanted() if one.table == "scheduling_service" and "update" in one.name)
    on = f" ON {trigger.table}" if connection.vendor == "postgresql" else ""
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TRIGGER {trigger.name}{on}")
    assert not triggers_are_whole()
    cache = FleetCache(ChangeFeed())
    table_read(cache)
    service_disable(host=HOST)
    assert table_read(cache).enabled.tolist() == [True, False]
    fleet_triggers_ensure()
    assert triggers_present().keys() == {one.name for one in triggers_wanted()}


def test_change_made_while_a_migration_had_taken_the_triggers_away_is_seen_afterwards() -> None:
    fleet(2)
    cache = FleetCache(ChangeFeed())
    table_read(cache)
    fleet_triggers_drop_before_migrate(using=connection.alias, plan=["a migration"])
    assert not triggers_present()
    service_disable(host=HOST)
    fleet_triggers_ensure()
    assert table_read(cache).enabled.tolist() == [True, False]


def test_migrating_to_where_it_stands_leaves_the_triggers() -> None:
    fleet_triggers_drop_before_migrate(using=connection.alias, plan=[])
    assert triggers_are_whole()


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer at a time")
def test_change_of_a_transaction_that_was_open_at_the_last_look_is_seen_once_it_ended() -> None:
    fleet(2)
    table_read()
    written, may_end, errors = threading.Event(), threading.Event(), []

    def write() -> None:
        try:
            with transaction.atomic():
                service_disable(host=HOST)
                written.set()
                may_end.wait(PATIENCE_S)
        except Exception as error:  # noqa: BLE001 - told below
            errors.append(error)
        finally:
            connection.close()

    thread = threading.Thread(target=write)
    thread.start()
    assert written.wait(PATIENCE_S)
    service_disable(host="cmp-00")
    assert table_read().enabled.tolist() == [False, True]
    may_end.set()
    thread.join()
    assert not errors
    assert table_read().enabled.tolist() == [False, False]


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite in memory is one connection")
def test_threads_that_look_while_the_fleet_changes_end_with_the_same_table() -> None:
    fleet(4)
    cache, errors = FleetCache(ChangeFeed()), []

    def work(number: int) -> None:
        try:
            for turn in range(12):
                if turn % 3 == number % 3:
                    build_failure_count(host=f"cmp-0{number}")
                table = table_read(cache)
                assert len(table) == 4
        except Exception as error:  # noqa: BLE001 - told below
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert differing(table_read(cache), read_anew()) == []


def test_freed_room_is_seen() -> None:
    fleet(1)
    instance = uuid.uuid4()
    allocations_claim([Claim(instance, PROJECT, USER, {ComputeNode.objects.get().id: {"VCPU": 2}})])
    assert table_read().vcpus_used.tolist() == [2]
    allocations_free([instance])
    assert table_read().vcpus_used.tolist() == [0]
