"""Each verb of the agents' Protocol in turn: its connection is cut, or its answer lost, before or after it took effect.

A verb is asked for once more, by the agent's own retry, its next tick or its next attempt, and the effect is one:
a build is made once and on one host, a deletion ends, a guest runs once.
"""

import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from computeagent.protocol.wire import verbs
from tests.drill.faults.door_proxy import DoorProxy, Strike, behind_proxy
from tests.drill.faults.fault import (
    ONE_REAL_TWO_SIMULATED,
    Evidence,
    Fault,
    attempts,
    delete,
    expect,
    instance,
    is_active,
    make,
    runs_on,
    until,
    works,
)
from tests.drill.json_socket import ask
from tests.drill.names import IMAGES
from tests.drill.stage import Stage

HOST, REAL = "t1", "q1"
HANG_S = 2.0
TELLS_S = 2.0
WITHIN_S = 40.0
"""A cut costs a retry, or at most a lease of 3 s and the agent's next look; an answer that is lost a time-out more."""


@dataclass(frozen=True, slots=True)
class Case:
    """The verb that is struck next."""

    stage: Stage
    proxy: DoorProxy
    verb: str

    def wait_until_asked(self) -> None:
        """Until an agent has asked for it, and was struck."""
        until(lambda: not self.proxy.is_armed(self.verb), WITHIN_S, f"{self.verb} is asked for")


def struck(how: Strike) -> Callable[[Stage], Evidence]:
    """The fault: every verb of the Protocol is struck like this, once."""

    def run(stage: Stage) -> Evidence:
        """Each in turn, with what makes an agent ask for it."""
        took: dict[str, float] = {}
        with behind_proxy(stage) as proxy:
            kept = make(stage, host=HOST)
            until(lambda: is_active(stage, kept), WITHIN_S, f"{kept} is ACTIVE")
            for verb in verbs():
                began = time.monotonic()
                proxy.strike(verb, how)
                case = Case(stage, proxy, verb)
                ASKED_BY.get(verb, _nothing)(case)
                case.wait_until_asked()
                until(lambda: runs_on(stage, kept) == [HOST], WITHIN_S, f"{kept} runs, once, after {verb} was struck")
                took[verb] = round(time.monotonic() - began, 1)
        return {"verbs": len(took), "took_s": took}

    return run


def _build(case: Case) -> None:
    """An instance is built on the one host, and deleted."""
    stage = case.stage
    uid = make(stage, host=HOST)
    _is_built(case, uid)
    _delete(case, uid)
    until(lambda: instance(stage, uid) is None, WITHIN_S, f"{uid} is deleted after {case.verb} was struck")
    expect(not runs_on(stage, uid), f"nothing of {uid} runs")
    (work,) = works(stage, uid, "delete")
    expect(work["state"] == "done", f"its deletion is done: {work}")


def _builds(case: Case) -> None:
    """One after the other, until the agent tells of one: at times its next registration does so first."""
    while case.proxy.is_armed(case.verb):
        uid = make(case.stage, host=HOST)
        _is_built(case, uid)
        time.sleep(TELLS_S)
        delete(case.stage, uid)


def _delete(case: Case, uid: str) -> None:
    """Not before the verb was asked for, unless this is what makes an agent ask."""
    if case.verb != "deleted":
        case.wait_until_asked()
    delete(case.stage, uid)


def _is_built(case: Case, uid: str, host: str = HOST) -> None:
    stage, verb = case.stage, case.verb
    until(lambda: is_active(stage, uid), WITHIN_S, f"{uid} is ACTIVE although {verb} was struck")
    expect(runs_on(stage, uid) == [host], f"it runs there, once: {runs_on(stage, uid)}")
    tried = attempts(stage, uid)
    expect([(one["host"], one["outcome"]) for one in tried] == [(host, "active")], f"one host was tried: {tried}")
    (work,) = works(stage, uid, "build")
    allowed = 2 if verb == "give_back" else 1  # after the agent was stopped in the first
    expect(work["attempt"] == allowed, f"it was taken so often: {work}")


def _build_in_group(case: Case) -> None:
    """An instance in a server group, for which the agent asks the late check."""
    stage = case.stage
    group = stage.client.call("server-groups/", {"name": f"g-{uuid.uuid4().hex[:8]}", "policy": "soft-affinity"})
    expect(group.is_ok, f"a server group is made: {group}")
    uid = make(stage, host=HOST, hints={"group": group.body["id"]})
    _is_built(case, uid)
    _delete(case, uid)


def _build_of_fresh_image(case: Case) -> None:
    """A real guest of an image that the cache does not have. Images that it has ask for nothing."""
    stage = case.stage
    images = iter(range(1, IMAGES))
    while case.proxy.is_armed(case.verb):
        uid = make(stage, host=REAL, image=next(images))
        _is_built(case, uid, REAL)
        delete(stage, uid)


def _build_that_hangs(case: Case) -> None:
    """Long enough for its lease to be renewed."""
    stage = case.stage
    stage.arm("libvirt.create", f"hang {HANG_S}")
    _build(case)


def _refused_build(case: Case) -> None:
    """The host gives everything back and says so once; another host builds it."""
    stage, verb = case.stage, case.verb
    stage.arm("libvirt.create", "refuse not now")
    uid = make(stage)
    until(lambda: is_active(stage, uid), WITHIN_S, f"{uid} is ACTIVE although {verb} was struck")
    tried = [(one["host"], one["outcome"]) for one in attempts(stage, uid)]
    expect([outcome for _, outcome in tried] == ["rescheduled", "active"], f"two hosts were tried: {tried}")
    expect(runs_on(stage, uid) == [tried[1][0]], "it runs on the second, once")
    _delete(case, uid)


def _stop_and_start(case: Case) -> None:
    """Both end as asked for."""
    stage, verb = case.stage, case.verb
    uid = make(stage, host=HOST)
    until(lambda: is_active(stage, uid), WITHIN_S, f"{uid} is ACTIVE")
    _act(stage, uid, "stop", "stopped")
    expect(not runs_on(stage, uid), f"it does not run after {verb} was struck")
    _act(stage, uid, "start", "active")
    expect(runs_on(stage, uid) == [HOST], f"it runs after {verb} was struck")
    _delete(case, uid)


def _refused_start(case: Case) -> None:
    """The action ends with what it was, and can be asked for again."""
    stage, verb = case.stage, case.verb
    uid = make(stage, host=HOST)
    until(lambda: is_active(stage, uid), WITHIN_S, f"{uid} is ACTIVE")
    _act(stage, uid, "stop", "stopped")
    stage.arm("libvirt.create", "refuse not now")
    stage.load.act(uid, "start")
    until(lambda: _is(stage, uid, "stopped"), WITHIN_S, f"the start of {uid} failed although {verb} was struck")
    (work,) = works(stage, uid, "start")
    expect(work["state"] == "failed", f"its one start failed: {work}")
    _act(stage, uid, "start", "active")
    _delete(case, uid)


def _act(stage: Stage, uid: str, action: str, state: str) -> None:
    stage.load.act(uid, action)
    until(lambda: _is(stage, uid, state), WITHIN_S, f"{uid} is {state}")


def _is(stage: Stage, uid: str, state: str) -> bool:
    one = instance(stage, uid) or {}
    return one.get("vm_state") == state and not one["task_state"]


def _stopped_agent(case: Case) -> None:
    """An agent that is asked to end gives its build back, and ends it after its next start."""
    stage = case.stage
    agent = stage.processes[f"agent-{HOST}"]
    stage.arm("libvirt.create", f"hang {HANG_S + 3}")
    uid = make(stage, host=HOST)
    until(lambda: stage.fired("libvirt.create"), WITHIN_S, "the start hangs")
    agent.stop()
    agent.start()
    _is_built(case, uid)
    _delete(case, uid)


def _restarted_agent(case: Case) -> None:
    """Its simulated guests are gone with it, and are brought back."""
    stage = case.stage
    stage.processes[f"agent-{HOST}"].restart()


def _orphan(case: Case) -> None:
    """A guest that nobody knows is listed, released and removed."""
    stage, verb = case.stage, case.verb
    uid = str(uuid.uuid4())
    ask(stage._control_socket(HOST), {"ask": "orphan", "uuid": uid})
    expect(runs_on(stage, uid) == [HOST], "the orphan runs")
    until(lambda: not runs_on(stage, uid), WITHIN_S, f"the orphan is removed although {verb} was struck")


def _nothing(case: Case) -> None:
    """It is asked for again and again."""


ASKED_BY: Mapping[str, Callable[[Case], None]] = {
    "void_leases": _restarted_agent,
    "usage": _builds,
    "wakeups": _build,
    "take": _build,
    "renew": _build_that_hangs,
    "record_steps": _build,
    "group_check": _build_in_group,
    "image_chunks": _build_of_fresh_image,
    "build_done": _build,
    "build_failed": _refused_build,
    "action_done": _stop_and_start,
    "action_failed": _refused_start,
    "deleted": _build,
    "power_states": _stop_and_start,
    "console_outputs": _build,
    "give_back": _stopped_agent,
    "orphan_guests": _orphan,
    "release_guest": _orphan,
    "guests_returned": _restarted_agent,
}
"""What makes an agent ask for a verb, and what must follow; those that are not here it asks for all the time."""

FAULTS = tuple(Fault(f"door-{how}", struck(how), agents=ONE_REAL_TWO_SIMULATED) for how in Strike)
