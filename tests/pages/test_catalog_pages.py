"""Flavors, key pairs and server groups: lists, forms with refusals at their fields, and what each person may do."""

import re
from collections.abc import Callable

from django.test import Client

from controlplane.identity.domain import Caller
from servers.catalog.services.server_group import server_group_create
from servers.models import Flavor, KeyPair, ServerGroup
from tests.worlds.cloud import People, active, flavor

AsPerson = Callable[[Caller], Client]
SIZE = {"vcpus": 2, "memory_mib": 2048, "root_gib": 10, "ephemeral_gib": 0, "swap_mib": 0, "is_public": "on"}


def test_a_flavor_is_made_with_its_extra_specs_and_changed(people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)
    pairs = {"spec_key": ["hw:cpu_policy", "", "mine"], "spec_value": ["dedicated", "", "1"]}

    made = client.post("/flavors/new/", {"name": "pinned", **SIZE, **pairs})

    row = Flavor.objects.get(name="pinned")
    assert (made.status_code, made.headers["Location"]) == (302, f"/flavors/{row.pk}/")
    assert row.extra_specs == {"hw:cpu_policy": "dedicated", "mine": "1"}
    assert "Whether guest CPUs have host CPUs to themselves" in client.get(f"/flavors/{row.pk}/").text
    client.post(
        f"/flavors/{row.pk}/edit/", {"name": "pinned", **SIZE, "vcpus": 4, "spec_key": "mine", "spec_value": "2"}
    )
    row.refresh_from_db()
    assert (row.vcpus, row.extra_specs) == (4, {"mine": "2"})


def test_each_refusal_of_a_flavor_stands_at_its_field_or_its_row(people: People, as_person: AsPerson) -> None:
    pairs = {
        "spec_key": ["hw:cpu_policy", "hw:cpu_polcy", "", "mine", "mine"],
        "spec_value": ["x", "shared", "y", "1", "2"],
    }

    form_only = as_person(people.admin).post("/flavors/new/", {"name": "m1.tiny", **SIZE, **pairs}).text
    pairs = {"spec_key": ["hw:cpu_policy", "hw:cpu_polcy"], "spec_value": ["x", "shared"]}
    by_service = as_person(people.admin).post("/flavors/new/", {"name": " ", **SIZE, **pairs}).text

    assert "The value y has no key." in form_only
    assert "mine is there more than once." in form_only
    for text in (
        "it must be one of dedicated, shared, mixed",
        "is not a key of the namespace hw. Did you mean hw:cpu_policy",
    ):
        assert re.search(rf'id="spec-hint-\d"[^>]*>\s*<span class="bad-text">[^<]*{re.escape(text)}', by_service)
    assert Flavor.objects.count() == 1


def test_more_rows_saves_nothing_and_keeps_what_was_typed(people: People, as_person: AsPerson) -> None:
    data = {"name": "half", **SIZE, "spec_key": ["mine"], "spec_value": ["1"], "more": "1"}

    page = as_person(people.admin).post("/flavors/new/", data).text

    assert (page.count('name="spec_key"'), 'value="half"' in page, 'value="mine"' in page) == (5, True, True)
    assert not Flavor.objects.filter(name="half").exists()


def test_the_editor_tells_what_a_key_means(people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)

    known = client.get("/flavors/spec/", {"spec_key": "hw:cpu_policy", "spec_value": "dedicated"}).text
    wrong = client.get("/flavors/spec/", {"spec_key": "hw:cpu_policy", "spec_value": "x"}).text
    refused = client.get("/flavors/spec/", {"spec_key": "hw:redirected_usb_ports", "spec_value": "2"}).text
    own = client.get("/flavors/spec/", {"spec_key": "mine", "spec_value": "<b>"}).text

    assert "Whether guest CPUs have host CPUs to themselves" in known
    assert "bad-text" in wrong
    assert "of the flavor cannot be given to a guest: no guest&#x27;s USB ports are redirected here." in refused
    assert "not in the table" in own
    assert "<b>" not in own


def test_private_flavors_are_seen_by_admins_with_their_use(people: People, as_person: AsPerson) -> None:
    hidden = flavor("secret.size", is_public=False)
    active(people.member)

    admins, members = (as_person(one).get("/flavors/").text for one in (people.admin, people.member))

    assert "secret.size" in admins
    assert "secret.size" not in members
    assert 'data-label="Instances"' not in members
    assert re.search(r'm1\.tiny</a>.*?data-label="Instances">1</td></tr>', admins, re.DOTALL)
    assert as_person(people.member).get(f"/flavors/{hidden.pk}/").status_code == 404


def test_a_flavor_is_copied_and_deleted(people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)
    original = flavor("big", vcpus=8, extra_specs={"mine": "1"})

    copy = client.get("/flavors/new/", {"like": "big"}).text
    gone = client.post(f"/flavors/{original.pk}/delete/")

    assert all(text in copy for text in ('value="big-copy"', 'value="8"', 'value="mine"'))
    assert (gone.status_code, Flavor.objects.filter(name="big").exists()) == (302, False)


def test_a_key_pair_made_here_shows_its_private_half_once(people: People, as_person: AsPerson) -> None:
    client = as_person(people.member)

    made = client.post("/keypairs/new/", {"name": "laptop", "public_key": ""})

    assert "BEGIN OPENSSH PRIVATE KEY" in made.text
    assert "no-store" in made.headers["Cache-Control"]
    listed = client.get("/keypairs/").text
    assert ("laptop" in listed, "PRIVATE KEY" in listed) == (True, False)
    assert "laptop" not in as_person(people.stranger).get("/keypairs/").text
    again = client.post("/keypairs/new/", {"name": "laptop", "public_key": ""}).text
    assert "You have a key pair named laptop already." in again


def test_a_key_pair_is_kept_and_deleted_by_its_owner_alone(people: People, as_person: AsPerson) -> None:
    client = as_person(people.member)
    line = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIII mary"

    refused = client.post("/keypairs/new/", {"name": "bad", "public_key": "nonsense"}).text
    client.post("/keypairs/new/", {"name": "a/b", "public_key": line})

    assert 'class="errorlist"' in refused
    kept = KeyPair.objects.values_list("name", flat=True)
    for name in list(kept):
        assert as_person(people.stranger).post("/keypairs/delete/", {"name": name}).status_code == 404
        assert client.post("/keypairs/delete/", {"name": name}).status_code == 302
    assert not KeyPair.objects.exists()


def test_a_server_group_is_made_listed_and_deleted(people: People, as_person: AsPerson) -> None:
    client = as_person(people.member)
    data = {"name": "web", "policy": "anti-affinity", "max_server_per_host": "2"}

    wrong = client.post("/server-groups/new/", {**data, "policy": "affinity"}).text
    client.post("/server-groups/new/", data)

    assert "max_server_per_host goes with the policy anti-affinity only." in wrong
    group = ServerGroup.objects.get()
    shown = client.get(f"/server-groups/{group.pk}/").text
    assert "It has no members." in shown
    assert all(text in shown for text in ("each on another host", "Most on one host</dt><dd>2", "None yet."))
    assert 'href="/server-groups/' in client.get("/server-groups/", {"search": "we"}).text
    assert "Nothing matches the filters" in client.get("/server-groups/", {"search": "db"}).text
    assert client.post(f"/server-groups/{group.pk}/delete/").status_code == 302
    assert not ServerGroup.objects.exists()


def test_members_of_a_group_show_their_hosts_to_admins_only(people: People, as_person: AsPerson) -> None:
    group = server_group_create(caller=people.member, name="web", policy="anti-affinity")
    instance = active(people.member, "web-1", hints={"group": str(group.pk)})
    path = f"/server-groups/{group.pk}/"

    admins, members = (as_person(one).get(path).text for one in (people.admin, people.member))

    host = f'href="/hosts/{instance.host}/"'
    assert ("web-1" in members, host in members, host in admins) == (True, False, True)
    assert as_person(people.stranger).get(path).status_code == 404
