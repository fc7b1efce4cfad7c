"""Forcing a host down and removing it by pages: what is shown before, what is refused, what is told afterwards."""

from collections.abc import Callable

import pytest
from django.test import Client

from controlplane.identity.domain import Caller
from scheduling.fleet.services.service_states import service_disable, service_force_down
from scheduling.models import Service
from tests.worlds import cloud as world
from tests.worlds.cloud import People

AsPerson = Callable[[Caller], Client]


def test_host_that_takes_instances_says_so_and_has_no_form(people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)
    assert 'href="/hosts/h1/remove/"' in client.get("/hosts/h1/").text
    page = client.get("/hosts/h1/remove/").text
    assert "It is up and takes new instances: disable it, or stop its agent, first." in page
    assert 'name="typed"' not in page
    assert client.post("/hosts/h1/remove/", {"typed": "h1"}).status_code == 409
    assert Service.objects.filter(host="h1").exists()


@pytest.mark.parametrize("typed", ["", "h", "H1"])
def test_name_has_to_be_typed(people: People, as_person: AsPerson, typed: str) -> None:
    service_disable(host="h1")
    page = as_person(people.admin).post("/hosts/h1/remove/", {"typed": typed})
    assert "Type h1 to remove it." in page.text
    assert Service.objects.filter(host="h1").exists()


def test_disabled_host_is_removed(people: People, as_person: AsPerson) -> None:
    service_disable(host="h1")
    client = as_person(people.admin)
    assert "Remove it by force" not in client.get("/hosts/h1/remove/").text
    done = client.post("/hosts/h1/remove/", {"typed": "h1"}, follow=True)
    assert "Host h1 is removed." in done.text
    assert not Service.objects.filter(host="h1").exists()
    assert client.get("/hosts/h1/").status_code == 404


def test_forced_removal_shows_what_it_leaves_first_and_afterwards(people: People, as_person: AsPerson) -> None:
    for name in Service.objects.exclude(host="h1").values_list("host", flat=True):
        service_disable(host=name)
    instance = world.active(people.member, "web-0")
    client = as_person(people.admin)
    down = client.post("/hosts/h1/act/", {"action": "force_down"}, follow=True)
    assert "h1 is forced down." in down.text
    assert "Forced down: an admin" in down.text
    page = client.get("/hosts/h1/remove/").text
    assert "1 instance stays in the database without a host that runs it" in page
    assert f"/instances/{instance.pk}/" in page
    refused = client.post("/hosts/h1/remove/", {"typed": "h1"})
    assert refused.status_code == 409
    assert "1 instance is on it (web-0)." in refused.text
    done = client.post("/hosts/h1/remove/", {"typed": "h1", "force": "1"}, follow=True)
    assert "Left without a host: web-0 (1)" in done.text
    assert client.get(f"/instances/{instance.pk}/").status_code == 200


def test_forced_down_is_taken_back_by_a_button(people: People, as_person: AsPerson) -> None:
    service_force_down(host="h1", forced_down=True)
    done = as_person(people.admin).post("/hosts/h1/act/", {"action": "force_down_end"}, follow=True)
    assert "h1 is no longer forced down." in done.text
    assert not Service.objects.get(host="h1").forced_down
