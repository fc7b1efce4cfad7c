"""The overview: one line that answers, what needs a look, and what follows from a host that is silent."""

from collections.abc import Callable

from django.db.models import F
from django.test import Client

from computeagent.protocol.steps import FailureClass
from controlplane.identity.domain import Caller
from controlplane.identity.models import Project
from controlplane.infra.db import now_plus
from scheduling.models import ComputeNode, Service
from servers.models import Instance
from tests.worlds.cloud import People, active, create, fail_build, flavor, hosts_with_work, pump

AsPerson = Callable[[Caller], Client]


def page(client: Client, path: str = "/") -> str:
    return client.get(path).content.decode()


def silenced(host: str) -> None:
    Service.objects.filter(host=host).update(last_seen_up=now_plus(-7200))


def test_a_fleet_without_trouble_is_well(people: People, as_person: AsPerson) -> None:
    active(people.member)
    for person in (people.admin, people.member, people.reader):
        shown = page(as_person(person))
        assert "All is well." in shown
        assert "Needs attention" not in shown


def test_a_silent_host_is_named_with_what_is_on_it_and_its_room_is_left_out(
    people: People, as_person: AsPerson
) -> None:
    instance = active(people.member)
    admin = as_person(people.admin)
    silenced(instance.host)

    shown = page(admin)

    assert "Not fine: 1 host down." in shown
    assert "1 host is down, with 1 instance of which nothing is known" in shown
    assert f'href="/hosts/{instance.host}/"' in shown
    assert "last seen 2 h ago, 1 instance" in shown
    assert 'id="stat-UNKNOWN"' in shown
    assert 'id="stat-ACTIVE"' not in shown
    assert "of 16 <" in shown.replace("(overcommit", "<")  # 4 CPUs, overcommitted 4 times, of the other host alone
    assert "1 host is silent" in page(admin, "/drift/")


def test_what_is_on_a_silent_host_is_unknown_and_says_so_before_it_is_acted_on(
    people: People, as_person: AsPerson
) -> None:
    instance = active(people.member)
    silenced(instance.host)
    paths = (f"/instances/{instance.pk}/", f"/instances/{instance.pk}/delete/", "/instances/")
    member = [page(as_person(people.member), path) for path in paths]

    assert all("UNKNOWN" in shown and "was ACTIVE 2 h ago" in shown for shown in member)
    assert "Actions wait for its host" in member[0]
    assert "What you ask for waits until it is back" in member[1]
    host = instance.host
    assert not any(f"/hosts/{host}" in shown or f"host {host}" in shown for shown in member)
    assert f'id="silent-host" href="/hosts/{instance.host}/"' in page(as_person(people.admin), paths[0])
    assert "1 instance is on hosts that are silent" in page(as_person(people.member))
    assert "waits-for-host" not in page(as_person(people.member), f"/instances/{instance.pk}/act/lock/")


def test_stop_that_was_asked_of_a_silent_host_says_at_once_that_it_waits(people: People, as_person: AsPerson) -> None:
    instance = active(people.member)
    silenced(instance.host)
    as_person(people.member).post(f"/instances/{instance.pk}/act/", {"action": "stop"})
    for caller in (people.member, people.reader, people.admin):
        shown = page(as_person(caller), f"/instances/{instance.pk}/")
        assert shown.count("It waits for its host, which has not reported since ") == 2  # what is done, and its journey
    assert f"/instances/{instance.pk}/" in page(as_person(people.admin), "/instances/?host_status=UNKNOWN")
    assert f"/instances/{instance.pk}/" not in page(as_person(people.admin), "/instances/?host_status=UP")


def test_failed_builds_are_put_together_by_reason_with_the_next_step(people: People, as_person: AsPerson) -> None:
    flavor("g1", extra_specs={"trait:HW_CPU_X86_AVX512F": "required"})
    create(people.member, "train", flavor="g1", min_count=3)
    create(people.member, "again", flavor="g1")
    pump()
    create(people.member, "broken")
    pump()
    fail_build(hosts_with_work()[0], FailureClass.USER, "The image is no bootable disk.")

    shown = page(as_person(people.admin))

    assert "5 failed builds, for 2 reasons" in shown
    assert "No host has the trait HW_CPU_X86_AVX512F" in shown
    assert "and 3 more of demo, g1" in shown
    assert "Give hosts the trait" in shown
    assert "The image is no bootable disk" in shown
    assert "5 failed builds" in page(as_person(people.member))
    assert "failed build" not in page(as_person(people.stranger))


def test_work_that_waits_for_a_silent_host_stands_still(people: People, as_person: AsPerson) -> None:
    instance = active(people.member)
    silenced(instance.host)
    as_person(people.member).post(f"/instances/{instance.pk}/act/", {"action": "stop"})

    shown = page(as_person(people.admin))

    assert "1 piece of work stands still" in shown
    assert f"waits for {instance.host}, which is silent" in shown
    assert "stands still" not in page(as_person(people.member))


def test_activity_is_one_line_a_request_with_who_asked(people: People, as_person: AsPerson) -> None:
    create(people.member, "batch", min_count=5, max_count=5)
    pump()
    shown = page(as_person(people.reader))
    assert shown.count('<li><span class="pill busy">under way</span>') == 1
    assert "and 4 more" in shown
    assert "by mary" in shown


def test_quotas_near_their_end_and_agents_that_lag_behind_are_shown(people: People, as_person: AsPerson) -> None:
    active(people.member)
    Project.objects.filter(pk=people.member.project_id).update(quota_instances=1)
    ComputeNode.objects.update(agent_version="1.9")
    ComputeNode.objects.filter(host="h2").update(agent_version="1.10")

    shown = page(as_person(people.admin))

    assert "Running, with something to look at: 1 quota near the end, 1 agent behind." in shown
    assert "demo: instances" in shown
    assert "1 agent lags behind 1.10, the newest" in shown
    assert "1 quota is near the end" in page(as_person(people.member))
    assert "lags behind" not in page(as_person(people.member))


def test_room_lasts_as_long_as_the_pace_of_the_last_weeks_says(people: People, as_person: AsPerson) -> None:
    active(people.member)
    Instance.objects.update(created_at=F("created_at"))
    Instance.objects.update(created_at=now_plus(-4 * 86400.0))
    shown = page(as_person(people.admin))
    # 32 vCPUs may be allocated, one is, within 4 days.
    assert "lasts 124 days" in shown


def test_a_guest_that_stands_still_by_itself_is_named_with_the_reason(people: People, as_person: AsPerson) -> None:
    instance = active(people.member)
    Instance.objects.update(power_state="paused", power_reason="watchdog")
    said = "The guest stands still, for its watchdog fired: the system inside hangs."
    for person in (people.admin, people.member):
        shown = page(as_person(person))
        assert "1 guest stands still by itself" in shown
        assert said in shown
        assert (f"on {instance.host}, " in shown) is person.is_admin
        assert said in page(as_person(person), f"/instances/{instance.pk}/")
    assert "stands still by itself" not in page(as_person(people.stranger))
