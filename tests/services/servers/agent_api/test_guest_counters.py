"""What guests have used: one statement a message, the host's own instances, a bounded size, gone with the guest."""

import uuid
from typing import Any

import pytest
from django.db import connection
from django.db.models import F

from computeagent.protocol.guests import GuestCounters
from controlplane.kernel.errors import Invalid
from controlplane.work.host_ownership import Ownership
from servers.agent_api import conductor_connect
from servers.agent_api.host_ownership import host_ownership, host_ownership_claim
from servers.instances.domain.guest_samples import COARSE, FINE
from servers.instances.selectors.guest_counters import CountersSpan, guest_counters, span_of
from servers.instances.services.delete import instance_delete
from servers.instances.services.guest_counters import guest_counters_prune, guest_counters_store
from servers.models import GuestCounterChunk, Instance
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)
ONE = GuestCounters(cpu_ns=5_000_000, rx_bytes=77, tx_drops=3)


@pytest.fixture
def who() -> world.People:
    return world.cloud("h1", "h2")


def on_host(host: str, project: uuid.UUID | None = None) -> Instance:
    return Instance.objects.create(
        project_id=project or uuid.uuid4(), user_id=uuid.uuid4(), name="vm", host=host, flavor={},
        flavor_id=uuid.uuid4(), vcpus=2, memory_mib=512, vm_state="active",
    )  # fmt: skip


def earlier(seconds: int) -> None:
    """Let all samples be so much older, so that the next one may follow."""
    GuestCounterChunk.objects.update(last_s=F("last_s") - seconds)


def store(host: str, *instances: Instance, ownership: Ownership | None = None, counters: GuestCounters = ONE) -> int:
    return guest_counters_store(host=host, counters={one.pk: counters for one in instances}, ownership=ownership)


def test_first_sample_is_kept_by_the_minute_and_by_five() -> None:
    instance = on_host("h1")
    assert store("h1", instance) == 2
    for span in CountersSpan:
        found = guest_counters(instance, span)
        assert [one.counters for one in found.samples] == [ONE]
        assert found.since_s <= found.samples[0].at_s <= found.until_s
        assert found.rates == ()


def test_sample_that_comes_twice_or_too_soon_is_dropped() -> None:
    instance = on_host("h1")
    store("h1", instance)
    assert store("h1", instance) == 0
    earlier(30)
    assert store("h1", instance) == 0
    earlier(30)
    assert store("h1", instance) == 1  # by the minute; five minutes are not over
    earlier(300)
    assert store("h1", instance) == 2


def test_later_samples_are_appended_to_the_same_row() -> None:
    instance = on_host("h1")
    for number in range(5):
        earlier(60)
        store("h1", instance, counters=GuestCounters(cpu_ns=number * 10**9, rx_bytes=2**33 + number))
    rows = GuestCounterChunk.objects.filter(step_s=60)
    assert rows.count() <= 2  # a chunk may have ended meanwhile
    samples = guest_counters(instance, CountersSpan.HOUR).samples
    assert [one.counters.rx_bytes - 2**33 for one in samples] == [0, 1, 2, 3, 4]


def test_host_writes_of_its_own_living_instances_alone() -> None:
    own, others, gone = on_host("h1"), on_host("h2"), on_host("h1")
    Instance.objects.filter(pk=gone.pk).update(deleted_at=F("created_at"))
    unknown = Instance(id=uuid.uuid4())
    assert store("h1", own, others, gone, unknown) == 2
    assert set(GuestCounterChunk.objects.values_list("instance_uuid", flat=True)) == {own.pk}


def test_agent_that_lost_its_host_writes_nothing(who: world.People) -> None:
    instance = on_host("h1")
    host_ownership_claim(host="h1", agent_id="new", guests=())
    assert store("h1", instance, ownership=host_ownership(host="h1", agent_id="old")) == 0
    assert store("h1", instance, ownership=host_ownership(host="h1", agent_id="new")) == 2


def test_message_with_names_that_are_no_ids_keeps_the_rest() -> None:
    instance = on_host("h1")
    conductor_connect().guest_counters(host="h1", counters={"'; DROP TABLE": ONE, str(instance.pk): ONE})
    assert GuestCounterChunk.objects.count() == 2


def test_message_costs_the_same_for_many_guests(django_assert_num_queries: Any) -> None:
    instances = [on_host("h1") for _ in range(50)]
    with django_assert_num_queries(2):
        assert store("h1", *instances) == 100
    with django_assert_num_queries(0):
        assert guest_counters_store(host="h1", counters={}) == 0


def test_reading_costs_the_same_however_many_samples(django_assert_num_queries: Any) -> None:
    instance = on_host("h1")
    store("h1", instance)
    with django_assert_num_queries(2):
        guest_counters(instance, CountersSpan.DAY)


def test_counters_go_with_their_instance(who: world.People) -> None:
    (made,) = world.create(who.member, "vm", availability_zone="nova")
    world.pump()
    world.finish_builds()
    instance = Instance.objects.get(pk=made.pk)
    other = on_host(instance.host)
    store(instance.host, instance, other)
    instance_delete(caller=who.member, instance_id=instance.pk)
    order = world.order(instance.host)
    conductor_connect().deleted(lease=order.lease)
    assert set(GuestCounterChunk.objects.values_list("instance_uuid", flat=True)) == {other.pk}
    assert store(instance.host, instance) == 0


def test_old_samples_are_pruned_sooner_by_the_minute() -> None:
    instance = on_host("h1")
    store("h1", instance)
    assert guest_counters_prune() == 0
    GuestCounterChunk.objects.update(starts_s=F("starts_s") - 3 * 3600)
    assert guest_counters_prune() == 1
    assert GuestCounterChunk.objects.get().step_s == 300
    GuestCounterChunk.objects.update(starts_s=F("starts_s") - 24 * 3600)
    assert guest_counters_prune() == 1


def test_day_of_one_guest_is_bounded() -> None:
    """All rows that may stand for one guest, full of samples of a guest that works hard, sent as often as may be."""
    kept_s = {FINE: 3600, COARSE: 86400}
    rows = {each: seconds // each.chunk_s + 2 for each, seconds in kept_s.items()}
    assert sum(rows[each] * (each.chunk_s // each.min_gap_s + 1) for each in rows) * 65 < 36 * 1024


@pytest.mark.parametrize("text", ["", "week", "HOUR"])
def test_other_spans_are_refused(text: str) -> None:
    with pytest.raises(Invalid, match="span is hour or day"):
        span_of(text)


def test_names_of_columns_in_the_statement_are_those_of_the_models() -> None:
    assert GuestCounterChunk._meta.db_table == "servers_guestcounterchunk"
    assert Instance._meta.db_table in connection.introspection.table_names()
