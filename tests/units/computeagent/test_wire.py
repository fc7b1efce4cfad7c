"""The agents' protocol on the wire: what earlier and this release said is still understood, and nothing is guessed."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from computeagent.protocol.hosts import HostVersions
from computeagent.protocol.wire import (
    ENROL,
    PROTOCOL_VERSION,
    ROTATE,
    STREAMED,
    Verb,
    encode,
    is_compatible,
    verbs,
)
from computeagent.protocol.work import HostWakeup, WorkKind, WorkWakeup
from controlplane.kernel.errors import Invalid
from controlplane.kernel.texts import phrase

RECORDED = Path(__file__).parents[2] / "fixtures" / "agent_protocol"
VERBS: dict[str, Verb] = {**verbs(), "enrol": ENROL, "rotate": ROTATE}
"""Recorded when a release is made, and not changed afterwards: `version_N.json` is what agents of version N say."""


def recorded() -> list[tuple[str, str, dict[str, Any]]]:
    understood = [path for path in sorted(RECORDED.glob("*.json")) if is_compatible(path.stem.rpartition("_")[2])]
    return [(path.stem, name, each) for path in understood for name, each in json.loads(path.read_text()).items()]


def test_this_version_is_recorded_with_every_verb() -> None:
    assert {name for version, name, _ in recorded() if version == f"version_{PROTOCOL_VERSION}"} == set(VERBS)


@pytest.mark.parametrize(("version", "name", "conversation"), recorded(), ids=lambda one: str(one)[:30])
def test_recorded_conversation_is_understood(version: str, name: str, conversation: dict[str, Any]) -> None:
    arguments = VERBS[name].arguments_of(encode(conversation["request"]))
    assert set(conversation["request"]) <= set(arguments)
    answer = VERBS[name].answer_of(encode(conversation["answer"]))
    if version == f"version_{PROTOCOL_VERSION}":
        # Said again by this release it is the same, so neither side lost a field on the way; some may have been added.
        assert since_recorded(json.loads(encode(arguments)), conversation["request"]) == conversation["request"]
        if name not in STREAMED and conversation["answer"] is not None:
            said = json.loads(encode(answer))
            assert since_recorded(said, conversation["answer"]) == conversation["answer"]


def since_recorded(said: Any, recorded: Any) -> Any:
    """What is said now without the fields that the record does not know."""
    if isinstance(said, dict) and isinstance(recorded, dict):
        return {name: since_recorded(value, recorded[name]) for name, value in said.items() if name in recorded}
    if isinstance(said, list) and isinstance(recorded, list) and len(said) == len(recorded):
        return [since_recorded(one, other) for one, other in zip(said, recorded, strict=True)]
    return said


def test_kinds_of_work_that_a_newer_control_plane_knows_are_left() -> None:
    body = encode([{"kind": "teleport", "work_id": "1"}, {"kind": "build", "work_id": "2", "speed": 9}])
    assert verbs()["wakeups"].answer_of(body) == [WorkWakeup(WorkKind.BUILD, "2")]


def test_wakeup_for_networks_is_left_by_an_agent_of_the_release_before() -> None:
    sent = encode([HostWakeup(), WorkWakeup(WorkKind.BUILD, "2")])
    assert verbs()["wakeups"].answer_of(sent) == [HostWakeup(), WorkWakeup(WorkKind.BUILD, "2")]
    (networks, _) = msgspec.json.decode(sent, type=list[msgspec.Raw])
    with pytest.raises(msgspec.ValidationError):  # which it passes over, as the test above shows
        msgspec.json.decode(networks, type=WorkWakeup)


@pytest.mark.parametrize("verb", sorted(verbs()))
def test_missing_arguments_are_named(verb: str) -> None:
    with pytest.raises(Invalid, match=f"The body of {verb} cannot be read: Object missing required field"):
        verbs()[verb].arguments_of(b"{}")


@pytest.mark.parametrize(("version", "answer"), [("1", True), ("2", True), ("3", False), ("", False), ("-1", False)])
def test_one_release_apart_is_compatible(version: str, *, answer: bool) -> None:
    assert PROTOCOL_VERSION == 1
    assert is_compatible(version) is answer


def test_registration_of_an_agent_that_reports_less_is_understood() -> None:
    sizes = {"hypervisor_hostname": "n", "hypervisor_type": "QEMU", "hypervisor_version": 1, "vcpus": 1}
    body = encode({"host": "hv", "report": {**sizes, "memory_mib": 1, "disk_gib": 1}})
    report = verbs()["register"].arguments_of(body)["report"]
    assert (report.versions, report.clock_skew, report.metrics) == (HostVersions(), None, {})


def test_heartbeat_of_a_control_plane_that_tells_no_time_is_understood() -> None:
    answer = {
        "service_id": "s",
        "compute_node_uuid": "n",
        "disabled": False,
        "report_interval_s": 10.0,
        "lease_s": 30.0,
    }
    registration = verbs()["heartbeat"].answer_of(encode(answer))
    assert (registration.time_s, registration.version) == (0.0, "")


def test_a_phrase_is_sent_as_its_text() -> None:
    refusal = {"message": phrase("Volume {volume} is busy.", volume="one"), "reasons": (phrase("It is."),)}
    assert encode(refusal) == b'{"message":"Volume one is busy.","reasons":["It is."]}'
    with pytest.raises(NotImplementedError, match="object is no part of the protocol"):
        encode(object())
