"""The create form where zones are not crossed: an instance without a zone is in that of its volumes."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from controlplane.identity.domain import Caller
from scheduling.fleet.services.aggregates import aggregate_create
from servers.models import BuildRequest, RequestSpec, Volume
from tests.pages.test_instance_pages import form
from tests.worlds.attachments import pool_row, volume_in
from tests.worlds.cloud import People

pytestmark = pytest.mark.django_db(transaction=True)
AsPerson = Callable[[Caller], Client]


@pytest.fixture
def volumes(people: People, settings: Any) -> list[Volume]:
    settings.KILONOVA = {**settings.KILONOVA, "CROSS_AZ_ATTACH": False}
    pool, mine = pool_row("shared", "h1"), people.member.project_id
    for zone in ("az1", "az2"):
        aggregate_create(name=zone, availability_zone=zone)
    return [volume_in(pool, mine, name=zone, availability_zone=zone) for zone in ("az1", "az2")]


def asked(client: Client, *volumes: Volume, zone: str = "") -> Any:
    fields: dict[str, Any] = {**form(availability_zone=zone), "more_volumes": [str(one.pk) for one in volumes]}
    return client.post("/instances/create/", fields)


def test_the_zone_of_a_volume_is_that_of_the_instance(
    people: People, as_person: AsPerson, volumes: list[Volume]
) -> None:
    assert asked(as_person(people.member), volumes[1]).status_code == 302
    assert RequestSpec.objects.get().typed_body.availability_zone == "az2"
    assert BuildRequest.objects.get().typed_body.availability_zone == "az2"


@pytest.mark.parametrize(
    ("several", "zone", "said"),
    [
        (True, "", "is in zone az2, and another volume of the instance in az1."),
        (False, "az2", "is in zone az1, and the instance in az2."),
    ],
)
def test_volumes_of_another_zone_are_refused_in_the_form(
    people: People, as_person: AsPerson, volumes: list[Volume], several: bool, zone: str, said: str
) -> None:
    answer = asked(as_person(people.member), *(volumes if several else volumes[:1]), zone=zone)
    assert answer.status_code == 200
    assert said in str(answer.context["form"].errors)
    assert not BuildRequest.objects.exists()
