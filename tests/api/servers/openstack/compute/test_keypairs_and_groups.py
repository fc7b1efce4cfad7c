"""Key pairs and server groups at the Compute API."""

from typing import Any

import pytest

from servers.models import KeyPair, ServerGroup
from tests.worlds import cloud as world
from tests.worlds.compute_door import ComputeClient, fault_of

pytestmark = pytest.mark.django_db

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPhmK2bBsJuoYI3zvKtPzHNnNDLLRJfXJCdg0WgGFqke me@here"
SHORT = {"name", "public_key", "fingerprint"}
WHOLE = SHORT | {"user_id", "id", "created_at", "updated_at", "deleted", "deleted_at"}


@pytest.fixture
def who() -> world.People:
    return world.people()


@pytest.mark.parametrize(("minor", "made", "gone", "more"), [(1, 200, 202, set()), (2, 201, 204, {"type"})])
def test_a_key_pair_lives(who: world.People, minor: int, made: int, gone: int, more: set[str]) -> None:
    member = ComputeClient(who.member, minor=minor)
    answer = member.call("POST", "/os-keypairs", {"keypair": {"name": "mine", "public_key": KEY}})
    assert answer.status_code == made
    assert set(answer.json()["keypair"]) == SHORT | {"user_id"} | more
    assert answer.json()["keypair"]["user_id"] == who.member.user_id.hex
    assert set(member.get("/os-keypairs/mine")["keypair"]) == WHOLE | more
    (listed,) = member.get("/os-keypairs")["keypairs"]
    assert set(listed) == {"keypair"}
    assert set(listed["keypair"]) == SHORT | more
    twice = member.call("POST", "/os-keypairs", {"keypair": {"name": "mine", "public_key": KEY}})
    fault_of(twice, 409, "conflictingRequest")
    fault_of(ComputeClient(who.reader).call("GET", "/os-keypairs/mine"), 404, "itemNotFound")
    assert member.call("DELETE", "/os-keypairs/mine").status_code == gone
    fault_of(member.call("DELETE", "/os-keypairs/mine"), 404, "itemNotFound")


def test_a_key_is_shown_as_it_was_sent(who: world.People) -> None:
    """Clients compare the text of their file, line's end included, with what is there."""
    member = ComputeClient(who.member)
    member.call("POST", "/os-keypairs", {"keypair": {"name": "mine", "public_key": KEY + "\n"}})
    assert member.get("/os-keypairs/mine")["keypair"]["public_key"] == KEY + "\n"
    assert KeyPair.objects.get(name="mine").public_key == KEY


def test_keys_are_made_until_2_91(who: world.People) -> None:
    member = ComputeClient(who.member)
    made = member.call("POST", "/os-keypairs", {"keypair": {"name": "made"}}, minor=91).json()["keypair"]
    assert made["private_key"].startswith("-----BEGIN OPENSSH PRIVATE KEY-----")
    assert KeyPair.objects.get(name="made").public_key == made["public_key"]
    fault_of(member.call("POST", "/os-keypairs", {"keypair": {"name": "x"}}, minor=92), 400, "badRequest")
    x509 = {"keypair": {"name": "x", "type": "x509", "public_key": KEY}}
    fault_of(member.call("POST", "/os-keypairs", x509, minor=2), 400, "badRequest")
    fault_of(member.call("POST", "/os-keypairs", x509), 400, "badRequest")
    for wrong in ({"name": ""}, {"name": "x" * 256}, {"name": "a/b"}, {"name": "x", "public_key": "no key"}):
        fault_of(member.call("POST", "/os-keypairs", {"keypair": wrong}), 400, "badRequest")


def test_key_pairs_of_others(who: world.People) -> None:
    admin, member, theirs = ComputeClient(who.admin, minor=10), ComputeClient(who.member, minor=10), who.member.user_id
    body = {"keypair": {"name": "given", "public_key": KEY, "user_id": theirs.hex}}
    fault_of(ComputeClient(who.admin, minor=9).call("POST", "/os-keypairs", body), 400, "badRequest")
    assert admin.call("POST", "/os-keypairs", body).json()["keypair"]["user_id"] == theirs.hex
    assert member.get("/os-keypairs/given")["keypair"]["name"] == "given"
    assert len(admin.get(f"/os-keypairs?user_id={theirs.hex}")["keypairs"]) == 1
    assert admin.get("/os-keypairs")["keypairs"] == []
    of_admin = who.admin.user_id.hex
    fault_of(member.call("GET", f"/os-keypairs?user_id={of_admin}"), 403, "forbidden")
    fault_of(member.call("DELETE", f"/os-keypairs/given?user_id={of_admin}"), 403, "forbidden")
    nobody = {"keypair": {**body["keypair"], "user_id": "0" * 32}}
    fault_of(admin.call("POST", "/os-keypairs", nobody), 400, "badRequest")
    assert admin.call("DELETE", f"/os-keypairs/given?user_id={theirs.hex}").status_code == 204


def test_pages_of_key_pairs(who: world.People) -> None:
    member = ComputeClient(who.member)
    for name in ("a", "b", "c"):
        member.call("POST", "/os-keypairs", {"keypair": {"name": name, "public_key": KEY}})
    assert len(member.get("/os-keypairs?limit=2", minor=34)["keypairs"]) == 3
    first = member.get("/os-keypairs?limit=2", minor=35)
    assert [one["keypair"]["name"] for one in first["keypairs"]] == ["a", "b"]
    query = first["keypairs_links"][0]["href"].partition("?")[2]
    last = member.get(f"/os-keypairs?{query}", minor=35)
    assert [one["keypair"]["name"] for one in last["keypairs"]] == ["c"]
    assert "keypairs_links" not in last
    fault_of(member.call("GET", "/os-keypairs?marker=z", minor=35), 400, "badRequest")


OLD = {"id", "name", "members", "policies", "metadata"}
OWNED = {"project_id", "user_id"}


@pytest.mark.parametrize(
    ("minor", "keys"),
    [
        (1, OLD),
        (12, OLD),
        (13, OLD | OWNED),
        (63, OLD | OWNED),
        (64, {"id", "name", "members", "policy", "rules"} | OWNED),
    ],
)
def test_a_group_lives(who: world.People, minor: int, keys: set[str]) -> None:
    member = ComputeClient(who.member, minor=minor)
    policy: dict[str, Any] = {"policy": "affinity"} if minor >= 64 else {"policies": ["affinity"]}
    answer = member.call("POST", "/os-server-groups", {"server_group": {"name": "g", **policy}})
    assert answer.status_code == 200
    made = answer.json()["server_group"]
    assert set(made) == keys
    assert member.get(f"/os-server-groups/{made['id']}") == {"server_group": made}
    assert member.get("/os-server-groups") == {"server_groups": [made]}
    stranger = ComputeClient(who.stranger, minor=minor)
    fault_of(stranger.call("GET", f"/os-server-groups/{made['id']}"), 404, "itemNotFound")
    assert stranger.get("/os-server-groups") == {"server_groups": []}
    assert member.call("DELETE", f"/os-server-groups/{made['id']}").status_code == 204
    fault_of(member.call("DELETE", f"/os-server-groups/{made['id']}"), 404, "itemNotFound")


def test_policies_by_version(who: world.People) -> None:
    member = ComputeClient(who.member)

    def ask(minor: int, **group: Any) -> Any:
        return member.call("POST", "/os-server-groups", {"server_group": {"name": "g", **group}}, minor=minor)

    fault_of(ask(14, policies=["soft-affinity"]), 400, "badRequest")
    assert ask(15, policies=["soft-affinity"]).status_code == 200
    fault_of(ask(15, policies=["affinity", "anti-affinity"]), 400, "badRequest")
    fault_of(ask(63, policy="affinity"), 400, "badRequest")
    fault_of(ask(64, policies=["affinity"]), 400, "badRequest")
    made = ask(64, policy="anti-affinity", rules={"max_server_per_host": "3"})
    assert made.json()["server_group"]["rules"] == {"max_server_per_host": 3}
    fault_of(ask(64, policy="affinity", rules={"max_server_per_host": 3}), 400, "badRequest")
    fault_of(ask(64, policy="anti-affinity", rules={"colour": 3}), 400, "badRequest")
    assert ServerGroup.objects.count() == 2


def test_groups_of_all_projects(who: world.People) -> None:
    body = {"server_group": {"name": "g", "policies": ["affinity"]}}
    assert ComputeClient(who.stranger).call("POST", "/os-server-groups", body).status_code == 200
    admin = ComputeClient(who.admin)
    assert admin.get("/os-server-groups") == {"server_groups": []}
    assert len(admin.get("/os-server-groups?all_projects=True")["server_groups"]) == 1
    assert admin.get("/os-server-groups?all_projects=True&offset=1") == {"server_groups": []}
    fault_of(ComputeClient(who.member).call("GET", "/os-server-groups?all_projects=1"), 403, "forbidden")
