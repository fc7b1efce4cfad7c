"""The journey on an instance's page: lanes of attempts with their causes, what tenants are not told, its cost."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from controlplane.identity.domain import Caller
from controlplane.infra.db import now_plus
from controlplane.work.models import Work
from controlplane.work.reconcile import reconcile_once
from servers.instances.services.delete import instance_delete
from servers.models import Instance
from tests.worlds.cloud import People, active, create, fail_build, finish_builds, flavor, host, instance_of, pump

AsPerson = Callable[[Caller], Client]


def tracks(client: Client, instance: Instance) -> list[tuple[str, str]]:
    """(title with host, outcome) of every lane, chapter after chapter."""
    parts = client.get(f"/instances/{instance.pk}/").context["sections"]
    found = [placed.track for part in parts for placed in part.tracks]
    return [(f"{track.title} {track.host}".strip(), track.outcome) for track in found]


def rescheduled(people: People) -> tuple[Instance, str]:
    """Given back by its first host, active on the second; and the name of the first."""
    made = create(people.member)[0]
    pump()
    first = instance_of(made.pk).host
    fail_build(first, message="no room for the disk")
    pump()
    finish_builds()
    return instance_of(made.pk), first


def unplaced(people: People) -> Instance:
    flavor("huge", root_gib=5000)
    made = create(people.member, flavor="huge")[0]
    pump()
    return Instance.objects.get(pk=made.pk)


def test_each_attempt_of_a_conductor_or_host_is_a_track_in_order(people: People, as_person: AsPerson) -> None:
    instance, first = rescheduled(people)

    assert tracks(as_person(people.admin), instance) == [
        ("Schedule", "host chosen"),
        (f"Attempt 1 {first}", "rescheduled"),
        (f"Choose another host {instance.host}", "host chosen"),
        (f"Attempt 2 {instance.host}", "active"),
        ("Active", "runs"),
    ]


def test_a_tenant_sees_the_same_tracks_without_hosts_and_reasons(people: People, as_person: AsPerson) -> None:
    instance, first = rescheduled(people)
    client = as_person(people.member)

    assert [title for title, _ in tracks(client, instance)][1:4] == ["Attempt 1", "Choose another host", "Attempt 2"]
    shown = client.get(f"/instances/{instance.pk}/").text
    kept = (f"on {first}", f"on {instance.host}", "/hosts/", "no room for the disk")
    assert [one for one in kept if one in shown] == []


def test_a_failed_attempt_bears_its_cause_and_the_next_says_that_nothing_was_decided_anew(
    people: People, as_person: AsPerson
) -> None:
    instance, _ = rescheduled(people)

    shown = as_person(people.admin).get(f"/instances/{instance.pk}/").text

    assert "no room for the disk" in shown
    assert "The next alternate of the earlier decision had room" in shown


def test_no_host_is_told_once_with_the_way_to_the_decision(people: People, as_person: AsPerson) -> None:
    instance = unplaced(people)
    client = as_person(people.member)

    assert tracks(client, instance) == [("Schedule", "no valid host")]
    page = client.get(f"/instances/{instance.pk}/").text
    assert f"/decisions/{instance.decision_id}/" in page
    fault = client.get(f"/instances/{instance.pk}/").context["fault"]
    # The notice above, and its lane.
    assert page.count(fault.message) == 2


def test_a_build_that_waits_says_for_whom(people: People, as_person: AsPerson) -> None:
    made = create(people.member)[0]
    client = as_person(people.admin)
    assert tracks(client, made) == [("Schedule", "waiting")]
    pump()
    assert tracks(client, made)[-1][1] == "building"
    assert "Wait for the agent" in client.get(f"/instances/{made.pk}/").text


def test_overdue_work_shows_who_ended_it_with_the_evidence(people: People, as_person: AsPerson) -> None:
    made = create(people.member)[0]
    pump()
    Work.objects.filter(kind="build").update(deadline_at=now_plus(-5))
    reconcile_once()
    client = as_person(people.admin)

    assert [outcome for _, outcome in tracks(client, made)] == ["host chosen", "failed", "by itself"]
    shown = client.get(f"/instances/{made.pk}/").text
    assert "past_deadline_s" in shown
    assert "past_deadline_s" not in as_person(people.member).get(f"/instances/{made.pk}/").text


def test_actions_after_the_build_stand_below_the_tracks(people: People, as_person: AsPerson) -> None:
    instance = active(people.member)
    client = as_person(people.member)
    client.post(f"/instances/{instance.pk}/act/", {"action": "stop"})

    context: Any = client.get(f"/instances/{instance.pk}/").context

    assert [entry.title for entry in context["later"]] == ["Stop"]


def test_bars_are_behind_words_for_who_cannot_see_them(people: People, as_person: AsPerson) -> None:
    instance = active(people.member)
    shown = as_person(people.member).get(f"/instances/{instance.pk}/").text
    bars = re.findall(r'<svg viewBox="0 0 1000 16"[^>]*>', shown)
    assert bars
    assert [bar for bar in bars if 'aria-hidden="true"' not in bar] == []
    assert shown.count("from the beginning") + shown.count(" on</span>") == len(bars)


def test_many_attempts_cost_the_queries_of_one(people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)

    def queries(instance: Instance) -> int:
        client.get(f"/instances/{instance.pk}/")
        with CaptureQueriesContext(connection) as seen:
            assert client.get(f"/instances/{instance.pk}/").status_code == 200
        return len(seen)

    few = queries(active(people.member))
    host("h3")
    assert queries(rescheduled(people)[0]) == few


def test_scheduled_again_it_is_built_in_a_section_of_its_own(people: People, as_person: AsPerson) -> None:
    instance = unplaced(people)
    client = as_person(people.member)
    path = f"/instances/{instance.pk}/"
    assert "Schedule again…" in client.get(path).text

    answer = client.post(f"{path}again/", follow=True)
    assert f"Schedule again: asked for {instance.name}." in answer.text
    assert tracks(client, instance) == [("Schedule", "no valid host"), ("Schedule", "waiting")]

    host("large", disk_gib=9000, disk_available_least_gib=9000)
    pump()
    finish_builds()
    assert tracks(client, instance)[1:] == [("Schedule", "host chosen"), ("Attempt 1", "active"), ("Active", "runs")]
    shown = client.get(path).text
    assert "Asked for again by mary." in shown
    assert "Schedule again…" not in shown


@pytest.mark.parametrize(("person", "status"), [("reader", 403), ("stranger", 404)])
def test_who_may_not_act_may_not_schedule_again(person: str, status: int, people: People, as_person: AsPerson) -> None:
    instance = unplaced(people)
    client = as_person(getattr(people, person))

    assert client.post(f"/instances/{instance.pk}/again/").status_code == status
    assert "Schedule again…" not in client.get(f"/instances/{instance.pk}/").text
    assert Instance.objects.get(pk=instance.pk).vm_state == "error"


def test_what_runs_is_not_scheduled_again_and_says_why(people: People, as_person: AsPerson) -> None:
    instance = active(people.member)

    answer = as_person(people.member).post(f"/instances/{instance.pk}/again/", follow=True)

    assert "schedule again needs error" in answer.text


def test_a_build_cut_off_by_its_deletion_says_so(people: People, as_person: AsPerson) -> None:
    made = create(people.member)[0]
    pump()
    instance_delete(caller=people.member, instance_id=made.pk)

    assert tracks(as_person(people.member), made)[1] == ("Attempt 1", "cancelled")
