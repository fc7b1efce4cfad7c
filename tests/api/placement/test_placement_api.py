"""Placement under /api/: who may read, what it says, how it is filtered."""

from uuid import UUID

import pytest

from controlplane.identity.domain import Role
from placement.services import provider_ensure

PROVIDERS = "/api/resource-providers/"
pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("path", [PROVIDERS, "/api/allocations/"])
@pytest.mark.parametrize(("role", "status"), [(Role.ADMIN, 200), (Role.MEMBER, 403), (Role.READER, 403)])
def test_providers_and_allocations_are_for_admins(client_of, path, role, status):
    assert client_of(role).get(path).status_code == status


@pytest.mark.parametrize("path", ["/api/resource-classes/", "/api/traits/", "/api/traits/HW_CPU_X86_AVX/"])
def test_names_are_for_everybody_with_a_role(client_of, path):
    assert client_of(Role.READER).get(path).status_code == 200


@pytest.mark.parametrize("path", [PROVIDERS, "/api/allocations/", "/api/resource-classes/", "/api/traits/"])
def test_nothing_is_for_strangers_or_writable(client, admin, path):
    assert client.get(path).status_code == 401
    assert admin.post(path, {}).status_code == 405


@pytest.mark.parametrize("part", ["", "inventories/", "usages/", "traits/"])
def test_parts_of_a_provider_are_for_admins(client_of, world, part):
    assert client_of(Role.MEMBER).get(f"{PROVIDERS}{world.first}/{part}").status_code == 403
    assert client_of(Role.ADMIN).get(f"{PROVIDERS}{world.first}/{part}").status_code == 200


def test_provider_shows_all_that_it_has(admin, world):
    body = admin.get(f"{PROVIDERS}{world.first}/").json()

    assert (body["id"], body["name"], body["kind"]) == (str(world.first), "host-a", "compute")
    assert (body["parent_provider_uuid"], body["root_provider_uuid"]) == (None, str(world.first))
    assert body["traits"] == ["HW_CPU_X86_AVX"]
    assert body["aggregates"] == [str(world.aggregate)]
    vcpu = body["inventories"][1]
    assert (vcpu["resource_class"], vcpu["capacity"], vcpu["used"], vcpu["free"]) == ("VCPU", 8, 3, 5)


def test_usages_are_at_a_generation(admin, world):
    body = admin.get(f"{PROVIDERS}{world.first}/usages/").json()

    assert body["usages"] == {"MEMORY_MB": 100, "VCPU": 3}
    assert body["generation"] == admin.get(f"{PROVIDERS}{world.first}/").json()["generation"]


def test_unknown_provider_is_not_found_in_the_one_shape(admin):
    answer = admin.get(f"{PROVIDERS}00000000-0000-0000-0000-00000000dead/")

    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "not_found"


def test_malformed_uuid_is_not_found(admin, db):
    assert admin.get(f"{PROVIDERS}{'f' * 35}/").status_code == 404


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", ["host-a", "host-b"]),
        ("name=host-b", ["host-b"]),
        ("search=OST-A", ["host-a"]),
        ("trait=HW_CPU_X86_AVX", ["host-a"]),
        ("aggregate={aggregate}", ["host-a"]),
        ("consumer={consumer}", ["host-a"]),
        ("in_tree={second}", ["host-b"]),
        ("kind=nested", []),
        ("ordering=-name", ["host-b", "host-a"]),
        ("page_size=1&page=2", ["host-b"]),
    ],
)
def test_providers_are_filtered_ordered_and_paged(admin, world, query, names):
    query = query.format(aggregate=world.aggregate, consumer=world.consumer, second=world.second)

    assert [row["name"] for row in admin.get(f"{PROVIDERS}?{query}").json()["results"]] == names


def test_bad_filter_is_an_error_that_names_the_field(admin, world):
    answer = admin.get(f"{PROVIDERS}?aggregate=not-a-uuid")

    assert answer.status_code == 400
    assert answer.json()["error"]["field"] == "aggregate"


def test_list_queries_do_not_grow_with_the_fleet(admin, world, django_assert_num_queries):
    for number in range(20):
        provider_ensure(UUID(int=number + 100), f"more-{number}")

    with django_assert_num_queries(2):
        admin.get(PROVIDERS)


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("", 2),
        ("consumer={consumer}", 2),
        ("provider={second}", 0),
        ("resource_class=VCPU", 1),
        ("project_id={project}", 2),
    ],
)
def test_allocations_are_filtered(admin, world, query, count):
    query = query.format(consumer=world.consumer, second=world.second, project="00000000-0000-0000-0000-000000000007")

    body = admin.get(f"/api/allocations/?{query}").json()

    assert body["count"] == count
    assert all(row["provider_name"] == "host-a" for row in body["results"])


def test_traits_that_some_provider_has(admin, world):
    body = admin.get("/api/traits/?associated=true").json()

    assert body["results"] == [{"name": "HW_CPU_X86_AVX", "custom": False}]


def test_custom_names_are_told_apart(admin, world):
    assert admin.get("/api/resource-classes/?custom=true").json()["count"] == 0
    assert {"name": "VCPU", "custom": False} in admin.get("/api/resource-classes/?custom=false").json()["results"]
