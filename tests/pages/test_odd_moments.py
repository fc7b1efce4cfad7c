"""Moments that are written well and are in no year of UTC are refused with their field, everywhere."""

from collections.abc import Callable

import pytest
from django.test import Client

from controlplane.identity.domain import Caller
from controlplane.identity.openstack.views.application_credentials import _moment as expiry
from controlplane.openstack.faults import ApiFault
from servers.openstack.compute.lists.values import moment
from servers.openstack.image.query_words import moments_of
from servers.openstack.volume.listing import moment_is
from tests.worlds.cloud import People

AsPerson = Callable[[Caller], Client]
ODD = ("0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00")
LISTS = {
    "/api/instances/": "created_after",
    "/api/audit-log/": "after",
    "/api/heals/": "created_before",
    "/api/decisions/": "created_after",
}


@pytest.mark.django_db
@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("path", LISTS)
def test_lists_of_the_api_name_the_field(people: People, as_person: AsPerson, path: str, odd: str) -> None:
    answer = as_person(people.admin).get(path, {LISTS[path]: odd})
    assert (answer.status_code, list(answer.json()["error"]["reasons"])) == (400, [LISTS[path]])


@pytest.mark.django_db
@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("path", ["/instances/", "/work/", "/audit-log/"])
def test_lists_of_pages_say_it_and_stand(people: People, as_person: AsPerson, path: str, odd: str) -> None:
    name = "after" if path == "/audit-log/" else "created_after"
    answer = as_person(people.admin).get(path, {name: odd})
    assert answer.status_code == 200


@pytest.mark.parametrize("odd", ODD)
def test_openstack_doors_refuse_them(odd: str) -> None:
    reads: tuple[Callable[[], object], ...] = (
        lambda: moment("changes-since", odd),
        lambda: expiry(odd),
        lambda: moments_of("created_at", f"gt:{odd}"),
    )
    for read in reads:
        with pytest.raises(ApiFault) as refused:
            read()
        assert refused.value.status == 400
    with pytest.raises(ApiFault):
        moment_is("created_at").condition(f"gt:{odd}")


@pytest.mark.django_db
def test_page_of_the_api_takes_no_options(people: People, as_person: AsPerson) -> None:
    assert as_person(people.admin).options("/api/docs/").status_code == 405
