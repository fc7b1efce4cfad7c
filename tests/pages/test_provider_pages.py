"""Resource providers: the list with its filters, one provider with all that hangs on it, and its live part."""

import re
import uuid
from collections.abc import Callable

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from controlplane.identity.domain import Caller
from controlplane.identity.models import User
from placement.domain import Claim, InventorySpec, ProviderKind, TraitOwner
from placement.services import (
    allocations_claim,
    inventory_put,
    provider_aggregates_set,
    provider_delete,
    provider_ensure,
    provider_traits_set,
)
from scheduling.fleet.services.aggregates import aggregate_create, aggregate_host_add
from scheduling.models import ComputeNode
from servers.models import Instance
from tests.worlds.cloud import People, active, create, host, pump

AsPerson = Callable[[Caller], Client]
GPU, NFS = uuid.UUID(int=11), uuid.UUID(int=12)


def node_of(name: str) -> uuid.UUID:
    return ComputeNode.objects.get(host=name).pk


def gpu_of_h1() -> None:
    provider_ensure(GPU, "h1-gpu", node_of("h1"), kind=ProviderKind.NESTED)
    inventory_put(GPU, "PGPU", InventorySpec(2))


def share() -> None:
    provider_ensure(NFS, "nfs-share", kind=ProviderKind.OTHER)
    inventory_put(NFS, "DISK_GB", InventorySpec(5000, reserved=100))
    provider_traits_set(NFS, {"CUSTOM_FAST"}, owner=TraitOwner.OPERATOR)


def path_of(provider: uuid.UUID) -> str:
    return f"/providers/{provider}/"


def live(client: Client, provider: uuid.UUID, seen: int) -> tuple[int, str]:
    answer = client.get(path_of(provider), {"seen": seen}, headers={"HX-Request": "true"})
    return answer.status_code, answer.text


def generation_shown(text: str) -> int:
    found = re.search(r"seen=(\d+)", text)
    assert found is not None
    return int(found[1])


def queries(client: Client, path: str) -> int:
    client.get(path)  # what is read once per process is read now
    with CaptureQueriesContext(connection) as seen:
        assert client.get(path).status_code == 200
    return len(seen)


def test_providers_are_filtered(people: People, as_person: AsPerson) -> None:
    gpu_of_h1()
    share()
    client = as_person(people.admin)
    asked = {
        "": ["h1", "h1-gpu", "h2", "nfs-share"],
        "search=1": ["h1", "h1-gpu"],
        "kind=compute": ["h1", "h2"],
        "resource_class=PGPU": ["h1-gpu"],
        "trait=CUSTOM_FAST": ["nfs-share"],
        "roots=true": ["h1", "h2", "nfs-share"],
        "resource_class=DISK_GB&kind=other&roots=true": ["nfs-share"],
        "kind=nonsense": [],
        "q=custom_fast": ["nfs-share"],
        "q=pgpu": ["h1-gpu"],
    }

    found = {query: client.get(f"/providers/?{query}").context["rows"] for query in asked}

    assert {query: [one.name for one in rows] for query, rows in found.items()} == asked


def test_the_list_says_what_to_do_when_a_filter_finds_nothing(people: People, as_person: AsPerson) -> None:
    assert "Nothing matches the filters" in as_person(people.admin).get("/providers/?search=zz").text


def test_the_list_says_how_providers_come_when_there_is_none(people: People, as_person: AsPerson) -> None:
    for name in ("h1", "h2"):
        provider_delete(node_of(name))

    assert 'href="/hosts/add/"' in as_person(people.admin).get("/providers/").text


def test_a_filter_stays_when_one_turns_the_page(people: People, as_person: AsPerson) -> None:
    for number in range(55):
        provider_ensure(uuid.uuid4(), f"more-{number:02}", kind=ProviderKind.COMPUTE)

    page = as_person(people.admin).get("/providers/?kind=compute&page=2")

    assert next(one.name for one in page.context["rows"]) == "more-48"
    assert 'href="?kind=compute&amp;page=1"' in page.text


def test_usage_is_shown_with_capacity_ratio_and_reserved(people: People, as_person: AsPerson) -> None:
    instance = active(people.member)

    page = as_person(people.admin).get(path_of(node_of(instance.host)))

    assert re.search(r"<b>512 MiB</b> <span class=\"soft\">of 7.5 GiB", page.text)
    assert "8,192" not in page.text
    assert "8 GiB less 512 MiB reserved" in page.text
    assert "times 4.0 overcommit" in page.text


def test_over_commitment_is_told(people: People, as_person: AsPerson) -> None:
    instance = active(people.member)
    inventory_put(node_of(instance.host), "MEMORY_MB", InventorySpec(100))

    page = as_person(people.admin).get(path_of(node_of(instance.host))).text

    assert "Over-committed by 412 MiB: no new claims until it fits." in page
    assert 'class="bar over"' in page


def test_traits_show_their_owner_and_whether_they_are_custom(people: People, as_person: AsPerson) -> None:
    share()

    page = as_person(people.admin).get(path_of(NFS)).text

    assert re.search(r"CUSTOM_FAST</span> <span class=\"soft small\">custom, operator<", page)


def test_the_tree_links_to_the_others_and_marks_this_one(people: People, as_person: AsPerson) -> None:
    gpu_of_h1()

    page = as_person(people.admin).get(path_of(GPU)).text

    assert re.search(rf'href="{path_of(node_of("h1"))}">h1</a><ul>\s*<li><b aria-current="true">h1-gpu</b>', page)
    assert 'href="/hosts/h1/"' in page


def test_aggregates_are_named_where_a_host_aggregate_has_the_uuid(people: People, as_person: AsPerson) -> None:
    aggregate = aggregate_create(name="rack-7")
    aggregate_host_add(aggregate_id=aggregate.pk, host="h1")
    share()
    unknown = uuid.uuid4()
    provider_aggregates_set(NFS, {aggregate.pk, unknown})
    User.objects.filter(pk=people.admin.user_id).update(is_staff=True)

    page = as_person(people.admin).get(path_of(NFS)).text

    assert f'href="/aggregates/{aggregate.pk}/">rack-7</a>' in page
    assert str(unknown) in page


def test_consumers_link_to_their_instance_with_what_they_hold(people: People, as_person: AsPerson) -> None:
    instance = active(people.stranger, "theirs")

    page = as_person(people.admin).get(path_of(node_of(instance.host)))

    assert f'href="/instances/{instance.pk}/">theirs</a>' in page.text
    (holding,) = page.context["holdings"]
    assert holding.amounts == {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 1}
    assert page.context["project_names"][holding.project_id] == "other"


def test_a_consumer_that_is_no_instance_is_shown_by_its_id_and_type(people: People, as_person: AsPerson) -> None:
    share()
    allocations_claim([Claim(uuid.UUID(int=5), "not-a-uuid", "u", {NFS: {"DISK_GB": 700}}, "VOLUME")])

    page = as_person(people.admin).get(path_of(NFS)).text

    assert ("volume" in page, str(uuid.UUID(int=5)) in page, "not-a-uuid" in page) == (True, True, True)


def test_a_deleted_instance_that_still_holds_something_is_marked(people: People, as_person: AsPerson) -> None:
    instance = active(people.member)
    Instance.objects.update(deleted_at=instance.created_at)

    page = as_person(people.admin).get(path_of(node_of(instance.host))).text

    assert '<span class="pill warn">deleted</span>' in page
    assert f'href="/instances/{instance.pk}/"' not in page


def test_a_provider_without_anything_says_what_to_do(people: People, as_person: AsPerson) -> None:
    provider_ensure(NFS, "empty", kind=ProviderKind.OTHER)

    page = as_person(people.admin).get(path_of(NFS)).text

    for said in ("No inventory is stated", "your own go in at", "Nobody holds anything here"):
        assert said in page


def test_only_staff_gets_links_to_the_admin(people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)
    without = client.get(path_of(node_of("h1"))).text
    User.objects.filter(pk=people.admin.user_id).update(is_staff=True)
    inside = client.get(path_of(node_of("h1"))).text

    assert ("/admin/placement/" in without, "/admin/placement/inventory/" in inside) == (False, True)


def test_the_live_part_is_answered_with_nothing_until_something_changed(people: People, as_person: AsPerson) -> None:
    client, provider = as_person(people.admin), node_of("h1")
    seen = generation_shown(client.get(path_of(provider)).text)

    assert live(client, provider, seen) == (204, "")

    inventory_put(provider, "VCPU", InventorySpec(64))
    status, text = live(client, provider, seen)
    assert (status, "of 64" in text, "<html" in text) == (200, True, False)


def test_the_live_part_says_that_the_provider_is_gone_and_asks_no_more(people: People, as_person: AsPerson) -> None:
    provider = node_of("h1")
    provider_delete(provider)

    status, text = live(as_person(people.admin), provider, 0)

    assert (status, "It is deleted" in text, "hx-get" in text) == (286, True, False)


def test_an_unknown_provider_is_not_found(people: People, as_person: AsPerson) -> None:
    assert as_person(people.admin).get(path_of(uuid.uuid4())).status_code == 404


def test_the_menu_shows_providers_to_admins_only(people: People, as_person: AsPerson) -> None:
    shown = [
        'href="/providers/"' in as_person(one).get(path).text
        for one, path in ((people.admin, "/hosts/"), (people.member, "/"))
    ]

    assert shown == [True, False]


def test_ten_providers_cost_the_queries_of_two(people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)
    few = queries(client, "/providers/")
    for number in range(7):
        host(f"more-{number}")
    share()

    assert queries(client, "/providers/") == few


def test_a_provider_with_many_consumers_and_children_costs_the_queries_of_one_with_one(
    people: People, as_person: AsPerson
) -> None:
    client = as_person(people.admin)
    active(people.member, "first")
    busy = Instance.objects.get().host
    gpu_of_h1()
    few = queries(client, path_of(node_of(busy)))
    for number in range(6):
        active(people.member, f"late-{number}")
    create(people.member, "pending")
    pump()
    for number in range(4):
        provider_ensure(uuid.uuid4(), f"gpu-{number}", node_of(busy), kind=ProviderKind.NESTED)

    assert queries(client, path_of(node_of(busy))) == few
