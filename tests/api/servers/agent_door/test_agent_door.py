"""`/agent/v1`: verbs over HTTP, and what a stolen secret reaches: its own host's rows, leases and images alone."""

import dataclasses
import logging
import uuid
from typing import Any

import pytest
from django.test import Client

from computeagent.protocol.guests import GuestCounters
from computeagent.protocol.hosts import HostMeasures, HostUsage
from computeagent.protocol.images import CacheState
from computeagent.protocol.networks import NetworksApplied
from computeagent.protocol.steps import BuildFailure, FailureClass, StepEnd
from computeagent.protocol.volumes import VolumeFacts, VolumesOnHost
from computeagent.protocol.wire import PROTOCOL_VERSION, VERSION_HEADER, verbs
from computeagent.protocol.work import AgentLease, WorkContext, WorkKind
from servers.agent_api.credentials import credential_revoke
from servers.agent_door.views import MAX_BODY_BYTES
from servers.models import ConsoleLog, GuestCounterChunk, Instance, InstanceActionEvent
from tests.worlds import agents
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def who() -> world.People:
    return world.cloud("h1", "h2")


def building(who: world.People, host: str) -> Instance:
    """An instance that the agent of this host is to build."""
    (made,) = world.create(who.admin, f"on-{host}", availability_zone=f"nova:{host}")
    world.pump()
    found = Instance.objects.get(pk=made.pk)
    assert found.host == host
    return found


def test_a_build_by_the_door_ends_active(who: world.People) -> None:
    instance = building(who, "h1")
    agent = agents.door_agent("h1")
    order = agent.take()
    assert (order.kind, order.guest.uuid) == (WorkKind.BUILD, str(instance.pk))
    agent.tell("record_steps", lease=order.lease, ended=[], begins="networking")
    agent.tell("renew", lease=order.lease)
    assert agent.tell("group_check", lease=order.lease).allowed
    agent.tell("build_done", lease=order.lease, facts=world.RUNNING, ended=[StepEnd("networking", 1.0, 0.5)])
    assert Instance.objects.get(pk=instance.pk).vm_state == "active"
    (on_host,) = agent.tell("instances_on_host", host="h1")
    assert on_host.guest == order.guest


def test_long_poll_hears_of_work(who: world.People) -> None:
    agent = agents.door_agent("h1")
    assert agent.tell("wakeups", host="h1", timeout_s=0.05) == []
    building(who, "h1")
    (wakeup,) = agent.tell("wakeups", host="h1", timeout_s=5.0)
    assert wakeup.kind is WorkKind.BUILD


def lease_verbs(lease: Any) -> dict[str, dict[str, Any]]:
    failure = BuildFailure(FailureClass.HOST, "spawning", "no")
    return {
        "renew": {"lease": lease},
        "record_steps": {"lease": lease, "ended": [StepEnd("spawning", 1.0, 0.5)], "begins": "networking"},
        "group_check": {"lease": lease},
        "image_chunks": {"lease": lease},
        "upload_begin": {"lease": lease, "size_bytes": 1, "sha256": "0" * 64},
        "upload_piece": {"lease": lease, "offset": 0, "data": b"x"},
        "upload_end": {"lease": lease},
        "step_progress": {"lease": lease, "step": "spawning", "done_bytes": 1, "total_bytes": 2},
        "first_boot": {"lease": lease},
        "build_done": {"lease": lease, "facts": world.RUNNING},
        "build_failed": {"lease": lease, "failure": failure},
        "screenshot_done": {"lease": lease, "png": b"x"},
        "action_done": {"lease": lease, "facts": world.RUNNING},
        "action_failed": {"lease": lease, "step": "x", "message": "y"},
        "deleted": {"lease": lease},
        "give_back": {"lease": lease, "reason": "x"},
        "volume_progress": {"lease": lease, "done_bytes": 1, "total_bytes": 2},
        "volume_done": {"lease": lease, "facts": VolumeFacts()},
        "volume_failed": {"lease": lease, "message": "no", "failure_class": FailureClass.HOST},
        "volume_made": {"lease": lease, "volume_id": str(uuid.uuid4()), "facts": VolumeFacts()},
    }


def host_verbs(host: str, instance: uuid.UUID) -> dict[str, dict[str, Any]]:
    key = str(instance)
    report = dataclasses.replace(world.REPORT, hypervisor_hostname=host)
    usage = HostUsage(vcpus=1, memory_mib=1, disk_gib=1, running_guests=1)
    return {
        "host_own": {"host": host, "agent_id": str(uuid.uuid4()), "guests": []},
        "void_leases": {"host": host, "owner_prefix": host},
        "register": {"host": host, "report": report},
        "heartbeat": {"host": host},
        "usage": {"host": host, "usage": usage},
        "measures": {"host": host, "measures": HostMeasures(usage, metrics={"cpu.percent": 66.0})},
        "wakeups": {"host": host, "timeout_s": 0.0},
        "waiting_work": {"host": host},
        "take": {"host": host, "work_id": str(uuid.uuid4()), "owner": "thief"},
        "instances_on_host": {"host": host},
        "power_states": {"host": host, "facts": {key: world.OFF}},
        "console_outputs": {"host": host, "outputs": {key: "stolen"}},
        "consoles_wanted": {"host": host},
        "console_failed": {"host": host, "session_id": key, "message": "stolen"},
        "guest_counters": {"host": host, "counters": {key: GuestCounters(cpu_ns=1)}},
        "guest_documents": {"host": host, "known": {}},
        "guest_password": {"host": host, "instance_uuid": key, "password": "stolen"},
        "images_cached": {"host": host, "images": []},
        "images_wanted": {"host": host},
        "wanted_image_chunks": {"host": host, "image_id": key},
        "image_cache_progress": {"host": host, "image_id": key, "state": CacheState.CACHED, "done_bytes": 1},
        "networks_wanted": {"host": host},
        "networks_applied": {"host": host, "applied": NetworksApplied(1)},
        "orphan_guests": {"host": host, "guests": []},
        "release_guest": {"host": host, "guest_uuid": key},
        "guests_returned": {"host": host, "returns": []},
        "volume_work": {"host": host},
        "volume_take": {"host": host, "work_id": str(uuid.uuid4()), "owner": "thief", "token": "t"},
        "volume_key": {"host": host, "volume_id": key},
        "volumes_present": {"host": host, "pools": [VolumesOnHost("local", "", (key,))]},
    }


def test_every_verb_is_in_one_of_the_two_lists(who: world.People) -> None:
    assert {*lease_verbs(None), *host_verbs("h1", uuid.uuid4())} == set(verbs())


def untouched(instance: Instance) -> bool:
    """Whether nothing at all was written about it."""
    now = Instance.objects.get(pk=instance.pk)
    same = all(getattr(now, field.name) == getattr(instance, field.name) for field in Instance._meta.concrete_fields)
    events = InstanceActionEvent.objects.filter(action__instance_uuid=instance.pk)
    written = (ConsoleLog.objects.filter(pk=instance.pk), GuestCounterChunk.objects.filter(instance_uuid=instance.pk))
    return same and not any(rows.exists() for rows in (*written, events.exclude(result="")))


def test_secret_says_nothing_about_another_host(who: world.People, caplog: pytest.LogCaptureFixture) -> None:
    victim = building(who, "h2")
    thief = agents.door_agent("h1")
    for verb, arguments in host_verbs("h2", victim.pk).items():
        with caplog.at_level(logging.WARNING):
            answer = thief.ask(verb, **arguments)
        assert (answer.status_code, agents.code_of(answer)) == (403, "forbidden"), verb
        assert untouched(victim), verb
        assert f"the agent of host h1 was refused {verb}" in caplog.text


def test_lease_of_another_host_is_refused(who: world.People, caplog: pytest.LogCaptureFixture) -> None:
    building(who, "h2")
    lease = agents.door_agent("h2").take().lease
    victim = Instance.objects.get(pk=lease.work_context.instance_uuid)
    thief = agents.door_agent("h1")
    for verb, arguments in lease_verbs(lease).items():
        with caplog.at_level(logging.WARNING):
            answer = thief.ask(verb, **arguments)
        assert (answer.status_code, agents.code_of(answer)) == (409, "fenced"), verb
        assert untouched(victim), verb
        assert f"the agent of host h1 was refused {verb}" in caplog.text


ALTERED: dict[str, Any] = {
    "work_id": str(uuid.uuid4()),
    "attempt": 2,
    "lease_s": 1e9,
    "owner": "another",
    "context.kind": "delete",
    "context.instance_uuid": str(uuid.uuid4()),
    "context.host": "h2",
    "context.number": 7,
    "context.action_id": 1,
    "context.has_devices": True,
    "context.seal": "",
}


def test_altered_lease_is_refused(who: world.People) -> None:
    building(who, "h1")
    agent = agents.door_agent("h1")
    lease: AgentLease = agent.take().lease
    for name, value in ALTERED.items():
        place, _, key = name.rpartition(".")
        context = dataclasses.replace(lease.work_context, **({key: value} if place else {}))
        bent = dataclasses.replace(lease, work_context=context, **({} if place else {key: value}))
        for verb, arguments in lease_verbs(bent).items():
            answer = agent.ask(verb, **arguments)
            assert (answer.status_code, agents.code_of(answer)) == (409, "fenced"), (name, verb)
    agent.tell("renew", lease=lease)


def test_lease_without_the_fields_that_an_older_agent_does_not_know_is_as_good(who: world.People) -> None:
    made = building(who, "h1")
    agent = agents.door_agent("h1")
    lease: AgentLease = agent.take().lease
    bare = dataclasses.replace(lease, work_context=WorkContext(seal=lease.work_context.seal))
    agent.tell("record_steps", lease=bare, begins="spawning")
    agent.tell("build_done", lease=bare, facts=world.RUNNING)
    made.refresh_from_db()
    assert made.vm_state == "active"


@pytest.mark.parametrize("seal", ["", ".", "e30=.", "%%.00", "\u00e9.\u00e9"])
def test_seal_that_is_none_is_refused(who: world.People, seal: str) -> None:
    building(who, "h1")
    agent = agents.door_agent("h1")
    lease: AgentLease = agent.take().lease
    bent = dataclasses.replace(lease, work_context=dataclasses.replace(lease.work_context, seal=seal))
    assert agents.code_of(agent.ask("renew", lease=bent)) == "fenced"


def test_lease_outlives_a_change_of_the_secret_key(who: world.People, settings: Any) -> None:
    building(who, "h1")
    agent = agents.door_agent("h1")
    lease, old = agent.take().lease, settings.SECRET_KEY
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "new-" * 20, [old]
    agent.tell("renew", lease=lease)
    settings.SECRET_KEY_FALLBACKS = []
    assert agents.code_of(agent.ask("renew", lease=lease)) == "fenced"


def test_replayed_lease_of_work_that_ended_is_refused(who: world.People) -> None:
    building(who, "h1")
    agent = agents.door_agent("h1")
    lease = agent.take().lease
    agent.tell("build_done", lease=lease, facts=world.RUNNING)
    before = Instance.objects.get(pk=lease.work_context.instance_uuid)
    for verb in ("renew", "build_done", "build_failed", "deleted", "give_back", "record_steps", "image_chunks"):
        assert agents.code_of(agent.ask(verb, **lease_verbs(lease)[verb])) == "fenced", verb
    assert Instance.objects.get(pk=before.pk).generation == before.generation


def test_ids_of_another_host_s_instances_have_no_effect(who: world.People) -> None:
    victim = building(who, "h2")
    world.finish_builds()
    victim.refresh_from_db()
    thief = agents.door_agent("h1")
    for verb in ("power_states", "console_outputs", "guest_counters", "release_guest"):
        answer = thief.ask(verb, **host_verbs("h1", victim.pk)[verb])
        assert answer.status_code == 200
    assert thief.tell("release_guest", host="h1", guest_uuid=str(victim.pk)) is False
    assert thief.tell("take", host="h1", work_id=str(uuid.uuid4()), owner="h1:1") is None
    now = Instance.objects.get(pk=victim.pk)
    assert (now.generation, now.power_state) == (victim.generation, victim.power_state)
    assert not ConsoleLog.objects.exists()
    assert not GuestCounterChunk.objects.exists()


def test_work_of_another_host_cannot_be_taken(who: world.People) -> None:
    building(who, "h2")
    owner = agents.door_agent("h2")
    (wakeup,) = owner.tell("waiting_work", host="h2")
    thief = agents.door_agent("h1")
    assert thief.tell("take", host="h1", work_id=wakeup.work_id, owner="h1:1") is None
    assert owner.take().lease.attempt == 1


def test_taking_again_by_the_same_token_has_the_same_answer_and_by_another_none(who: world.People) -> None:
    building(who, "h1")
    agent = agents.door_agent("h1")
    (wakeup,) = agent.tell("waiting_work", host="h1")
    ask = {"host": "h1", "work_id": wakeup.work_id, "owner": "h1:1"}
    first = agent.tell("take", **ask, token="a")
    again = agent.tell("take", **ask, token="a")
    assert (again.lease, again.guest) == (first.lease, first.guest)
    for other in ({"token": "b"}, {}, {"owner": "h1:2", "token": "a"}):
        assert agent.tell("take", **{**ask, **other}) is None
    agent.tell("give_back", lease=first.lease, reason="stopping")
    assert agents.code_of(agent.ask("renew", lease=first.lease)) == "fenced"
    assert agent.tell("take", **ask, token="a").lease.attempt == first.lease.attempt + 1


def test_owner_that_fits_in_no_row_is_refused(who: world.People) -> None:
    building(who, "h1")
    agent = agents.door_agent("h1")
    (wakeup,) = agent.tell("waiting_work", host="h1")
    answer = agent.ask("take", host="h1", work_id=wakeup.work_id, owner="h" * 150, token="t" * 60)
    assert (answer.status_code, agents.code_of(answer)) == (400, "invalid")


def test_revoked_secret_is_refused_at_once(who: world.People) -> None:
    building(who, "h1")
    agent = agents.door_agent("h1")
    lease = agent.take().lease
    credential_revoke(host="h1")
    for verb, arguments in {**lease_verbs(lease), **host_verbs("h1", uuid.uuid4())}.items():
        assert agents.code_of(agent.ask(verb, **arguments)) == "secret_refused", verb


@pytest.mark.parametrize("secret", ["", "kna_unknown", "Bearer", "\u00e9"])
def test_unknown_secret_is_refused(who: world.People, secret: str, caplog: pytest.LogCaptureFixture) -> None:
    agent = agents.door_agent("h1")
    agent.secret = secret
    with caplog.at_level(logging.WARNING):
        answer = agent.ask("heartbeat", host="h1")
    assert (answer.status_code, agents.code_of(answer)) == (403, "secret_refused")
    assert "a secret was refused" in caplog.text
    assert not secret or secret not in caplog.text


def test_second_agent_of_a_host_is_refused(who: world.People) -> None:
    agent = agents.door_agent("h1")
    second = agents.DoorAgent("h1", agent.secret)
    assert agents.code_of(second.ask("host_own", host="h1", agent_id=second.agent_id, guests=[])) == "conflict"
    assert agents.code_of(second.ask("register", **host_verbs("h1", uuid.uuid4())["register"])) == "conflict"


def test_agent_that_tells_no_id_is_refused(who: world.People) -> None:
    agent = agents.door_agent("h1")
    agent.agent_id = "nonsense"
    assert agents.code_of(agent.ask("heartbeat", host="h1")) == "invalid"


@pytest.mark.parametrize(("version", "is_taken"), [("0", True), ("1", True), ("2", True), ("3", False), ("x", False)])
def test_one_release_apart_is_understood(who: world.People, version: str, *, is_taken: bool) -> None:
    assert PROTOCOL_VERSION == 1
    agent = agents.door_agent("h1")
    agent.version = version
    answer = agent.ask("heartbeat", host="h1")
    assert answer.headers[VERSION_HEADER] == str(PROTOCOL_VERSION)
    assert answer.status_code == (200 if is_taken else 409)
    if not is_taken:
        assert agents.code_of(answer) == "incompatible"
        assert "one release at a time" in answer.json()["error"]["message"]


def test_fields_of_a_newer_agent_are_ignored(who: world.People) -> None:
    agent = agents.door_agent("h1")
    answer = agent.post("heartbeat", b'{"host": "h1", "shoe_size": 46}')
    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b"", None),
        (b"nonsense", None),
        (b"[]", None),
        (b"\xff", None),
        (b'{"host": 1}', "host"),
        (b"[" * 100_000, None),
    ],
)
def test_bad_bodies_are_told_apart(who: world.People, body: bytes, field: str | None) -> None:
    answer = agents.door_agent("h1").post("heartbeat", body)
    assert (answer.status_code, agents.code_of(answer)) == (400, "invalid")
    assert answer.json()["error"]["field"] == field


def test_nul_in_what_a_hypervisor_says_is_replaced(who: world.People) -> None:
    instance = building(who, "h1")
    agent = agents.door_agent("h1")
    lease = agent.take().lease
    agent.tell("record_steps", lease=lease, ended=[StepEnd("spawning", 1.0, 0.5, "no\0disk")], begins="")
    agent.tell("console_outputs", host="h1", outputs={str(instance.pk): "log\0in: "})
    assert InstanceActionEvent.objects.get(name="spawning").details == "no\ufffddisk"
    assert ConsoleLog.objects.get().output == "log\ufffdin: "
    failure = BuildFailure(FailureClass.HOST, "spawning", "a\0b", "c\0d")
    agent.tell("build_failed", lease=lease, failure=failure)


def test_unknown_verb_method_and_size(who: world.People) -> None:
    agent = agents.door_agent("h1")
    assert agents.code_of(agent.post("fly", b"{}")) == "not_found"
    assert agents.code_of(Client().get("/agent/v1/heartbeat")) == "invalid"
    answer = agent.post("console_outputs", b" " * (MAX_BODY_BYTES + 1))
    assert (answer.status_code, agents.code_of(answer)) == (413, "too_large")
