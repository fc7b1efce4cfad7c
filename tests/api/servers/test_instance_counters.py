"""What guests have used, in the API: for who may see the instance, and bounded."""

import uuid
from typing import Any

import pytest
from django.db.models import F

from computeagent.protocol.guests import GuestCounters
from servers.instances.services.guest_counters import guest_counters_store
from servers.models import GuestCounterChunk, Instance
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def who() -> world.People:
    return world.cloud("h1")


@pytest.fixture
def instance(who: world.People) -> Instance:
    """It has used some."""
    made = world.active(who.member)
    for number in (1, 2):
        counters = GuestCounters(cpu_ns=number * 3 * 10**9, memory_rss_kib=1000, rx_bytes=number * 6000)
        guest_counters_store(host=made.host, counters={made.pk: counters})
        GuestCounterChunk.objects.update(last_s=F("last_s") - 60)
    return made


def get(caller: Any, instance_id: object, query: str = "") -> Any:
    return world.client_of(caller).get(f"/api/instances/{instance_id}/counters/{query}")


def test_reader_sees_the_samples_of_an_hour(who: world.People, instance: Instance) -> None:
    body = get(who.reader, instance.pk).json()
    assert (body["span"], body["step_s"]) == ("hour", 60)
    assert [one["rx_bytes"] for one in body["samples"]] == [6000, 12000]
    assert body["samples"][0]["cpu_ns"] == 3 * 10**9
    assert body["since"] < body["samples"][0]["at"] <= body["until"]
    assert len(get(who.reader, instance.pk, "?span=day").json()["samples"]) == 1


def test_stranger_learns_nothing(who: world.People, instance: Instance) -> None:
    assert get(who.stranger, instance.pk).status_code == 404
    assert get(who.reader, uuid.uuid4()).status_code == 404


def test_other_span_is_refused_by_its_name(who: world.People, instance: Instance) -> None:
    answer = get(who.reader, instance.pk, "?span=year")
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, "span")


def test_instance_that_waits_for_a_host_has_none(who: world.People) -> None:
    (made,) = world.create(who.member, "waits")
    body = get(who.reader, made.pk).json()
    assert (body["samples"], body["rates"]) == ([], [])
