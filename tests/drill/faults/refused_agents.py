"""Agents that the door refuses, or nearly: a secret revoked in the middle of a build, an older release, one too old."""

import dataclasses
import json
import time
import types
import typing
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from computeagent.protocol.conductor import Conductor
from computeagent.protocol.wire import PROTOCOL_VERSION, VERSION_HEADER
from computeagent.transport.address import ControlPlaneAddress
from computeagent.transport.http_conductor import enrol
from computeagent.transport.secret_file import SecretFile
from tests.drill.faults.door_proxy import behind_proxy
from tests.drill.faults.fault import (
    ONE_REAL_TWO_SIMULATED,
    THREE_SIMULATED,
    Evidence,
    Fault,
    delete,
    expect,
    instance,
    is_active,
    log_of,
    make,
    runs_on,
    until,
    works,
)
from tests.drill.faults.libvirt_fails import DEADLINE_S, SHORT_DEADLINE
from tests.drill.guests import qemu_processes
from tests.drill.stage import ROOT, SETTINGS, Stage

REAL, SIMULATED = "q1", "t1"
HANG_S = 4.0
DOWN_S = float(SETTINGS["SERVICE_DOWN_TIME_S"])
RECORDED = ROOT / "tests" / "fixtures" / "agent_protocol"


def revoked_in_build(stage: Stage) -> Evidence:
    """The agent ends and says why; nothing that it still does is believed; the build ends at its deadline as on a host
    that died; the host says why it is down. Enrolled again, it goes on as before.
    """
    agent = f"agent-{REAL}"
    other = make(stage, host=REAL)
    until(lambda: is_active(stage, other), 90, f"{other} is ACTIVE")
    stage.arm("libvirt.create", f"hang {HANG_S}")
    uid = make(stage, host=REAL)
    until(lambda: stage.fired("libvirt.create"), 90, "the start hangs")
    (build,) = works(stage, uid, "build")
    mark, before = len(log_of(stage, agent)), len(stage.revived)
    answer = stage.client.call(f"agents/{REAL}/revoke/", {})
    expect(answer.is_ok, f"the secret is revoked: {answer}")
    expect("was revoked" in answer.body["refusal"], f"the host's agent is shown as locked out: {answer.body}")
    ended = until(lambda: agent in stage.revived[before:], 90, "the agent ends")
    until(lambda: "this agent is not let in" in log_of(stage, agent)[mark:], 90, "one that is started after it waits")
    expect("Enrol the host again" in log_of(stage, agent)[mark:], "its log says why")
    expect(stage.revived[before:].count(agent) == 1, "and does not end")
    time.sleep(HANG_S)
    expect(works(stage, uid, "build") == [build], f"nothing that it did took effect: {works(stage, uid, 'build')}")
    failed = until(lambda: _state(stage, uid) == "error", DEADLINE_S + 15, f"{uid} is in ERROR after its deadline")
    fault = stage.rows()["faults"].get(uid, "")
    expect("did not finish" in fault, f"its fault says that it did not finish: {fault!r}")
    expect((instance(stage, uid) or {})["host"] == REAL, "the host keeps it, as nobody knows what runs there")
    expect(other in [one.uuid for one in qemu_processes(stage.directory)], "the guest of the other goes on")
    until(lambda: float(stage._ask_auditor("hosts")[REAL]) > DOWN_S, DOWN_S + 10, "the host counts as down")
    _enrol_again(stage)
    until(lambda: is_active(stage, other) and runs_on(stage, other) == [REAL], 90, "the other is known to run again")
    delete(stage, uid)
    gone = until(lambda: instance(stage, uid) is None, 90, f"{uid} can be deleted")
    expect(not runs_on(stage, uid), "nothing of it runs")
    return {"agent_ended_s": ended, "in_error_s": failed, "fault": fault, "deleted_s": gone}


def _state(stage: Stage, uid: str) -> str:
    return str((instance(stage, uid) or {}).get("vm_state", "gone"))


def _enrol_again(stage: Stage) -> None:
    """As a person does it, with a token of the API; the agent that waits finds the new secret."""
    made = stage.client.call("hosts/enrolments/", {"host": REAL})
    expect(made.is_ok, f"a token is made: {made}")
    address = ControlPlaneAddress(f"http://127.0.0.1:{stage.client.port}")
    state = stage.directory / "agents" / REAL
    until(lambda: _enrols(address, state, str(made.body["token"])), 90, "the host is enrolled again")


def _enrols(address: ControlPlaneAddress, state: Path, token: str) -> bool:
    enrol(address, SecretFile(state), host=REAL, token=token)
    return True


def speaks(version: int) -> Callable[[dict[str, str]], dict[str, str]]:
    """Headers of an agent of this version of the protocol."""
    return lambda headers: {**headers, VERSION_HEADER: str(version)}


def older_release(stage: Stage) -> Evidence:
    """An agent one release older, which neither tells nor hears of fields that came since: it does all its work."""
    known = _recorded()
    settings: dict[str, Any] = {
        "alter_headers": speaks(PROTOCOL_VERSION - 1),
        "alter_request": lambda verb, body: _older(verb, body, known, is_answer=False),
        "alter_answer": lambda verb, body: _older(verb, body, known, is_answer=True),
    }
    with behind_proxy(stage, **settings) as proxy:
        uid = make(stage, host=SIMULATED)
        took = until(lambda: is_active(stage, uid), 90, f"{uid} is ACTIVE")
        for action, state in (("stop", "stopped"), ("start", "active"), ("reboot", "active")):
            stage.load.actions.act(uid, action)
            until(lambda state=state: _rests(stage, uid, state), 90, f"{uid} is {state} after a {action}")
        expect(runs_on(stage, uid) == [SIMULATED], "it runs there, once")
        delete(stage, uid)
        until(lambda: instance(stage, uid) is None, 90, f"{uid} is deleted")
        served = {verb: count for verb, count in proxy.passed.items() if count}
    return {"active_s": took, "version": PROTOCOL_VERSION - 1, "verbs": sorted(served)}


def _rests(stage: Stage, uid: str, state: str) -> bool:
    one = instance(stage, uid) or {}
    return one.get("vm_state") == state and not one["task_state"]


def _recorded() -> dict[str, Any]:
    """The conversation of the newest release before this one; as long as there is none, of this one."""
    names = {int(path.stem.partition("_")[2]): path for path in RECORDED.glob("version_*.json")}
    older = max((number for number in names if number < PROTOCOL_VERSION), default=min(names))
    found: dict[str, Any] = json.loads(names[older].read_text())
    return found


def _older(verb: str, body: bytes, known: Mapping[str, Any], *, is_answer: bool) -> bytes:
    """A message without the fields that the older side does not know."""
    if verb not in known or not body:
        return body
    value = json.loads(body)
    if isinstance(value, dict) and "error" in value:
        return body
    hints = typing.get_type_hints(getattr(Conductor, verb))
    if is_answer:
        return json.dumps(without_newer(value, hints["return"], known[verb]["answer"])).encode()
    request = known[verb]["request"]
    return json.dumps(
        {name: without_newer(value[name], hints[name], request[name]) for name in request if name in value}
    ).encode()


def without_newer(value: Any, hint: Any, known: Any) -> Any:
    """`value` of this type, cut to the fields that `known` has, at any depth."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return without_newer(value, next(part for part in parts if part is not type(None)), known)
    if dataclasses.is_dataclass(hint) and isinstance(value, dict) and isinstance(known, dict):
        hints = typing.get_type_hints(hint)
        return {name: without_newer(each, hints[name], known[name]) for name, each in value.items() if name in known}
    if isinstance(value, list) and isinstance(known, list) and known:
        return [without_newer(each, parts[0], known[0]) for each in value]
    if isinstance(value, dict) and isinstance(known, dict) and known and len(parts) == 2:
        sample = next(iter(known.values()))
        return {name: without_newer(each, parts[1], sample) for name, each in value.items()}
    return value


def too_old(stage: Stage) -> Evidence:
    """Two releases apart: the agent is refused with a sentence in its log, and the host is shown so until it fits."""
    agent = f"agent-{SIMULATED}"
    with behind_proxy(stage) as proxy:
        mark = len(log_of(stage, agent))
        proxy.alter_headers = speaks(PROTOCOL_VERSION - 2)
        words = f"The other side speaks version {PROTOCOL_VERSION - 2} of the agents' protocol"
        told = until(lambda: words in log_of(stage, agent)[mark:], 90, "the agent's log says why it is refused")
        until(lambda: "Upgrade whichever is older" in _refusal(stage), 10, "the host is shown as locked out")
        refusal = _refusal(stage)
        expect(f"version {PROTOCOL_VERSION - 2} " in refusal, f"it names the version: {refusal}")
        until(lambda: float(stage._ask_auditor("hosts")[SIMULATED]) > DOWN_S, DOWN_S + 10, "the host counts as down")
        proxy.alter_headers = dict
        back = until(lambda: not _refusal(stage), 90, "an agent that fits is locked out no more")
        uid = make(stage, host=SIMULATED)
        took = until(lambda: is_active(stage, uid), 90, f"{uid} is ACTIVE")
    return {"told_s": told, "refusal": refusal, "back_s": back, "active_s": took}


def _refusal(stage: Stage) -> str:
    listed = stage.client.call("agents/")
    expect(listed.is_ok, f"agents are listed: {listed}")
    return next(str(one["refusal"]) for one in listed.body["results"] if one["host"] == SIMULATED)


FAULTS = (
    Fault("secret-revoked-in-build", revoked_in_build, agents=ONE_REAL_TWO_SIMULATED, settings=SHORT_DEADLINE),
    Fault("agent-of-older-release", older_release, agents=THREE_SIMULATED),
    Fault("agent-too-old", too_old, agents=THREE_SIMULATED),
)
