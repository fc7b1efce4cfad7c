"""What hosts and guests report, on pages: versions, clocks, metrics, what an instance uses."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db.models import F
from django.db.models.functions import Now
from django.test import Client

from computeagent.protocol.guests import GuestCounters
from computeagent.protocol.hosts import ClockSkew, HostVersions
from controlplane.identity.domain import Caller
from scheduling.models import ComputeNode, Service
from servers.instances.services.guest_counters import guest_counters_store
from servers.models import GuestCounterChunk
from tests.worlds.cloud import People, active, create, host

AsPerson = Callable[[Caller], Client]
NEW = HostVersions(agent="2.0.0", protocol=1, service=73, libvirt="10.0.0", kernel="6.12", os="Debian 13")


def test_upgrade_shows_who_is_behind_and_who_is_silent(people: People, as_person: AsPerson) -> None:
    host("h1", versions=NEW)
    host("h3", versions=HostVersions(agent="1.0.0"))
    Service.objects.filter(host="h3").update(last_seen_up=Now() - timedelta(hours=1))
    client = as_person(people.admin)

    page = client.get("/hosts/versions/").text
    assert "2 hosts up, 1 silent" in page
    assert 'href="/hosts/versions/?agent_version=2.0.0#which"' in page
    assert "1 behind" in page

    behind = client.get("/hosts/versions/?behind=true")
    assert [one.host for one in behind.context["hosts"]] == ["h2", "h3"]
    assert "Hosts whose agent is older than the newest" in behind.text


def test_filter_without_an_answer_leads_back(people: People, as_person: AsPerson) -> None:
    page = as_person(people.admin).get("/hosts/versions/?libvirt_version=99").text
    assert 'No host. <a href="/hosts/versions/">Show all hosts</a>' in page


@pytest.mark.parametrize(
    "query", ["protocol_version=x", "behind=perhaps", "page=x", "hypervisor_version=%00", "up=true"]
)
def test_nonsense_in_the_address_is_no_error(people: People, as_person: AsPerson, query: str) -> None:
    assert as_person(people.admin).get(f"/hosts/versions/?{query}").status_code == 200


def test_no_hosts_yet_says_what_to_do(people: People, as_person: AsPerson) -> None:
    Service.objects.all().delete()
    page = as_person(people.admin).get("/hosts/versions/").text
    assert "No hosts yet" in page
    assert 'href="/hosts/add/"' in page


def test_clock_that_is_off_is_warned_of_everywhere(people: People, as_person: AsPerson) -> None:
    host("h1", clock_skew=ClockSkew(-7.5, 0.01))
    host("h2", clock_skew=ClockSkew(0.004, 0.01))
    client = as_person(people.admin)
    assert "clock off" in client.get("/hosts/").text
    one, other = client.get("/hosts/h1/").text, client.get("/hosts/h2/").text
    assert "7.5 s behind" in one
    assert "Its clock is off by more than it may" in one
    assert "Its clock is off" not in other
    assert [each.host for each in client.get("/hosts/versions/?clock_off=true").context["hosts"]] == ["h1"]


def test_host_shows_how_busy_it_is_and_when_that_is_old(people: People, as_person: AsPerson) -> None:
    host("h1", versions=NEW, metrics={"cpu.percent": 12.5, "memory.available.mib": 20480.0, "gpu.percent": 3.0})
    client = as_person(people.admin)
    page = client.get("/hosts/h1/").text
    for words in ("12.5 %", "20 GiB", "gpu.percent", "2.0.0, protocol 1, service version 73", "Debian 13, kernel 6.12"):
        assert words in page
    assert "This is old" not in page
    ComputeNode.objects.filter(host="h1").update(metrics_at=Now() - timedelta(hours=1))
    assert "This is old" in client.get("/hosts/h1/").text
    assert "It has measured nothing yet" in client.get("/hosts/h2/").text


def test_instance_shows_what_it_uses(people: People, as_person: AsPerson) -> None:
    instance = active(people.member)
    client = as_person(people.reader)
    assert "Nothing is counted yet within the last hour" in client.get(f"/instances/{instance.pk}/").text
    for number in (1, 2):
        counters = GuestCounters(cpu_ns=number * 10**9, memory_rss_kib=2048, tx_bytes=number * 10**6)
        guest_counters_store(host=instance.host, counters={instance.pk: counters})
        GuestCounterChunk.objects.update(last_s=F("last_s") - 60)
    # Two samples of one second have no rate between them: the first is moved back, as its row is.
    GuestCounterChunk.objects.filter(step_s=60).update(starts_s=F("starts_s") - 60)
    guest_counters_store(
        host=instance.host, counters={instance.pk: GuestCounters(cpu_ns=9 * 10**9, tx_bytes=3 * 10**6)}
    )
    page = client.get(f"/instances/{instance.pk}/?span=hour").text
    assert page.count("<polyline") >= 6
    assert 'aria-label="CPU: ' in page
    part = client.get(f"/instances/{instance.pk}/counters/?span=day", headers={"HX-Request": "true"})
    assert part.text.lstrip().startswith("<section")
    assert client.get(f"/instances/{instance.pk}/counters/?span=day").url == f"/instances/{instance.pk}/?span=day#use"


def test_instance_without_a_host_shows_no_use(people: People, as_person: AsPerson) -> None:
    (made,) = create(people.member, "waits")
    client = as_person(people.member)
    assert 'id="use"' not in client.get(f"/instances/{made.pk}/").text
    part = client.get(f"/instances/{made.pk}/counters/", headers={"HX-Request": "true"})
    assert part.status_code == 286
