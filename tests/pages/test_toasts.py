"""What pages say after something was asked for, and how it is taken back."""

import re
from collections.abc import Callable
from typing import Any

from django.test import Client

from controlplane.identity.domain import Caller
from servers.bulk.domain import BulkItemState
from servers.bulk.services.jobs import bulk_job_create
from servers.instances.actions.opposites import OPPOSITES
from servers.instances.actions.table import VERBS
from servers.models import BulkJob, BulkJobItem
from tests.worlds.cloud import People, active

AsPerson = Callable[[Caller], Client]
BUTTON = re.compile(
    r'<button class="link" form="toast-form" formaction="([^"]+)" name="([^"]+)" value="([^"]+)">([^<]+)<'
)


def undo_in(page: str) -> tuple[str, str, str, str]:
    found = BUTTON.search(page)
    assert found is not None
    assert '<form id="toast-form" method="post">' in page
    address, name, value, title = found.groups()
    return address, name, value, title


def test_a_lock_is_taken_back_by_its_toast(people: People, as_person: AsPerson) -> None:
    instance = active(people.member, "web-1")
    client = as_person(people.member)

    page = client.post(f"/instances/{instance.pk}/act/lock/", {}, follow=True)
    assert "Lock: done for web-1." in page.text
    address, name, value, title = undo_in(page.text)
    assert title == "Undo: unlock"
    instance.refresh_from_db()
    assert instance.locked

    page = client.post(address, {name: value}, follow=True)
    instance.refresh_from_db()
    assert not instance.locked
    assert "Unlock: done for web-1." in page.text


def test_what_is_begun_leads_to_its_work_or_its_journey(people: People, as_person: AsPerson) -> None:
    mine, theirs = active(people.member, "web-1"), active(people.member, "web-2")

    page = as_person(people.member).post(f"/instances/{mine.pk}/act/", {"action": "stop"}, follow=True)
    assert "Stop: asked for web-1." in page.text
    assert f'<a href="/instances/{mine.pk}/#journey">Its journey</a>' in page.text
    assert undo_in(page.text)[2:] == ("start", "Undo: start")

    page = as_person(people.admin).post(f"/instances/{theirs.pk}/act/", {"action": "stop"}, follow=True)
    assert f'<a href="/work/?state=&amp;q={theirs.pk}">Its work</a>' in page.text


def test_an_undo_that_comes_too_early_says_why_and_stays_on_offer(people: People, as_person: AsPerson) -> None:
    instance = active(people.member, "web-1")
    client = as_person(people.member)
    client.post(f"/instances/{instance.pk}/act/", {"action": "stop"}, follow=True)

    page = client.post(f"/instances/{instance.pk}/act/", {"action": "start"}, follow=True)

    assert 'class="toast notice bad error"' in page.text
    assert undo_in(page.text)[2:] == ("start", "Try again")


def test_names_in_toasts_are_text(people: People, as_person: AsPerson) -> None:
    instance = active(people.member, "<img src=x>")
    page = as_person(people.member).post(f"/instances/{instance.pk}/act/", {"action": "stop"}, follow=True)
    assert "<img src=x>" not in page.text


def test_a_disabled_host_is_enabled_again_by_its_toast(people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)
    page = client.post("/hosts/h1/act/", {"action": "disable", "reason": "disk"}, follow=True)
    address, name, value, _ = undo_in(page.text)
    assert (address, value) == ("/hosts/h1/act/", "enable")
    assert "h1 is enabled." in client.post(address, {name: value}, follow=True).text


def test_opposites_are_verbs_that_ask_for_nothing_they_must_have() -> None:
    for name, opposite in OPPOSITES.items():
        assert opposite.name in VERBS, name
        assert not any(one.is_required for one in opposite.arguments), name


def test_a_bulk_job_that_ended_is_taken_back_by_another(people: People, as_person: AsPerson) -> None:
    made = [active(people.member, f"web-{number}") for number in range(2)]
    ids = [one.pk for one in made]
    job = bulk_job_create(caller=people.member, action="lock", ids=ids, confirmed=2)
    BulkJobItem.objects.filter(job=job).update(state=BulkItemState.DONE)
    client = as_person(people.member)

    page = client.get(f"/bulk-jobs/{job.pk}/")
    assert "Undo: unlock the 2 that were done" in page.text
    answer = client.post(f"/bulk-jobs/{job.pk}/act/", {"action": "undo"})
    other: Any = BulkJob.objects.exclude(pk=job.pk).get()
    assert answer["Location"] == f"/bulk-jobs/{other.pk}/"
    assert (other.action, other.item_count) == ("unlock", 2)
    assert client.post(f"/bulk-jobs/{job.pk}/act/", {"action": "nothing"}).status_code == 400
    assert as_person(people.stranger).post(f"/bulk-jobs/{job.pk}/act/", {"action": "undo"}).status_code == 404
    assert as_person(people.reader).post(f"/bulk-jobs/{job.pk}/act/", {"action": "undo"}).status_code == 403
