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
WITHIN_S = 90.0
"""A cut costs a retry, or at most a lease of 3 s and the agent's next look; an answer that is lost a time-out more."""


@dataclass(frozen=True, slots=True)
class Case:
    """The verb that is struck next."""

    stage: Stage
    proxy: DoorProxy
    verb: str
    how: Strike

    @property
    def attempts(self) -> tuple[int, ...]:
        """How often a piece of work may be taken. An answer that does not come is waited for longer than a lease holds
        in a drill, and where it is that of `renew` nothing prolongs others meanwhile.
        """
        return (1, 2, 3) if self.how is Strike.ANSWER_LOST else (1,)

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
            for verb in (name for name in verbs() if name not in NOT_STRUCK):
                began = time.monotonic()
                proxy.strike(verb, how)
                case = Case(stage, proxy, verb, how)
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
    allowed = (2,) if verb == "give_back" else case.attempts  # after the agent was stopped in the first
    expect(work["attempt"] in allowed, f"it was taken so often when {verb} was struck: {work}")


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


def _real_guest(case: Case) -> None:
    """A guest that uses something, which its host tells."""
    uid = make(case.stage, host=REAL)
    _is_built(case, uid, REAL)
    _delete(case, uid)


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


def _backup(case: Case) -> None:
    """An image is made, sent, and, by its rotation, gone again; the instance is as it was."""
    stage, verb = case.stage, case.verb
    uid = make(stage, host=HOST)
    until(lambda: is_active(stage, uid), WITHIN_S, f"{uid} is ACTIVE")
    _act(stage, uid, "backup", "active")
    (work,) = works(stage, uid, "backup")
    expect(work["state"] == "done", f"its one backup is done although {verb} was struck: {work}")
    _delete(case, uid)


def _screenshot(case: Case) -> None:
    """A picture is asked for, and there is one, although the first telling of it was struck."""
    stage, verb = case.stage, case.verb
    uid = make(stage, host=HOST)
    until(lambda: is_active(stage, uid), WITHIN_S, f"{uid} is ACTIVE")
    path = f"instances/{uid}/screenshot/"
    expect(stage.client.call(path, {}).is_ok, "a picture is asked for")
    until(lambda: stage.client.call(path).body.get("taken_at"), WITHIN_S, f"a picture comes although {verb} was struck")
    _delete(case, uid)


def _prefetch(case: Case) -> None:
    """The host of real guests is asked to have images before any guest needs them, until it was struck; it has them."""
    stage, verb = case.stage, case.verb
    made = stage.client.call("aggregates/", {"name": f"a-{uuid.uuid4().hex[:8]}"})
    expect(made.is_ok, f"an aggregate is made: {made}")
    path = f"aggregates/{made.body['id']}"
    expect(stage.client.call(f"{path}/add_host/", {"host": REAL}).is_ok, f"{REAL} is in it")
    images = stage.client.call("images/?page_size=50").body["results"]
    while case.proxy.is_armed(verb) and images:
        image = images.pop()["id"]
        asked = stage.client.call(f"{path}/images/", {"cache": [{"id": image}]})
        expect(asked.is_ok, f"the image is asked for: {asked}")
        until(lambda: not _waits_for_images(stage, path), WITHIN_S, f"the image is there although {verb} was struck")


def _waits_for_images(stage: Stage, path: str) -> bool:
    states = {one["state"] for one in stage.client.call(f"{path}/images/").body["results"]}
    expect("failed" not in states, f"no image failed: {states}")
    return bool(states & {"waiting", "fetching"})


def _refused_start(case: Case) -> None:
    """The action ends with what it was, and can be asked for again."""
    stage, verb = case.stage, case.verb
    uid = make(stage, host=HOST)
    until(lambda: is_active(stage, uid), WITHIN_S, f"{uid} is ACTIVE")
    _act(stage, uid, "stop", "stopped")
    stage.arm("libvirt.create", "refuse not now")
    stage.load.actions.act(uid, "start")
    until(lambda: _is(stage, uid, "stopped"), WITHIN_S, f"the start of {uid} failed although {verb} was struck")
    (work,) = works(stage, uid, "start")
    expect(work["state"] == "failed", f"its one start failed: {work}")
    _act(stage, uid, "start", "active")
    _delete(case, uid)


def _act(stage: Stage, uid: str, action: str, state: str) -> None:
    stage.load.actions.act(uid, action)
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


def _volume(case: Case) -> None:
    """A volume is made and removed, by one attempt each."""
    stage = case.stage
    uid = _volume_asked(stage)
    until(lambda: _volume_state(stage, uid) == "available", WITHIN_S, f"{uid} is made although {case.verb} was struck")
    (work,) = works(stage, uid, "volume_create")
    is_done = work["state"] == "done" and work["attempt"] in case.attempts
    expect(is_done, f"its making is done, and was not taken too often: {work}")
    expect(stage.client.call(f"volumes/{uid}/", None, "DELETE").is_ok, "its deletion is asked for")
    until(lambda: _volume_state(stage, uid) == "", WITHIN_S, f"{uid} is removed although {case.verb} was struck")


def _refused_volume(case: Case) -> None:
    """It ends in error once, says so, and can be deleted."""
    stage = case.stage
    stage.arm("computeagent.volumes.volume_create:before", "refuse not now")
    uid = _volume_asked(stage)
    until(lambda: _volume_state(stage, uid) == "error", WITHIN_S, f"{uid} failed although {case.verb} was struck")
    (work,) = works(stage, uid, "volume_create")
    expect(work["state"] == "failed", f"its one making failed: {work}")
    expect(stage.client.call(f"volumes/{uid}/", None, "DELETE").is_ok, "its deletion is asked for")
    until(lambda: _volume_state(stage, uid) == "", WITHIN_S, f"{uid} is removed although {case.verb} was struck")


def _volume_asked(stage: Stage) -> str:
    made = stage.client.call("volumes/", {"size_gib": 1})
    expect(made.is_ok, f"a volume is asked for: {made}")
    return str(made.body["id"])


def _volume_state(stage: Stage, uid: str) -> str:
    """Empty for one that is gone."""
    return next((one["state"] for one in stage.rows()["volumes"] if str(one["id"]) == uid), "")


def _boots_from_volumes(case: Case) -> None:
    """Instances, until one boots from a volume that its build makes."""
    while case.proxy.is_armed(case.verb):
        uid = make(case.stage, host=HOST, may_have_volumes=True)
        _is_built(case, uid)
        delete(case.stage, uid)


def _nothing(case: Case) -> None:
    """It is asked for again and again."""


ASKED_BY: Mapping[str, Callable[[Case], None]] = {
    "host_own": _restarted_agent,
    "register": _restarted_agent,
    "void_leases": _restarted_agent,
    "waiting_work": _restarted_agent,
    "networks_wanted": _restarted_agent,
    "usage": _builds,
    "wakeups": _build,
    "take": _build,
    "renew": _build_that_hangs,
    "record_steps": _build,
    "group_check": _build_in_group,
    "image_chunks": _build_of_fresh_image,
    "first_boot": _build,
    "build_done": _build,
    "screenshot_done": _screenshot,
    "build_failed": _refused_build,
    "action_done": _stop_and_start,
    "action_failed": _refused_start,
    "deleted": _build,
    "upload_begin": _backup,
    "upload_piece": _backup,
    "upload_end": _backup,
    "power_states": _stop_and_start,
    "guest_counters": _real_guest,
    "images_cached": _prefetch,
    "images_wanted": _prefetch,
    "wanted_image_chunks": _prefetch,
    "image_cache_progress": _prefetch,
    "networks_applied": _restarted_agent,
    "console_outputs": _build,
    "give_back": _stopped_agent,
    "orphan_guests": _orphan,
    "release_guest": _orphan,
    "guests_returned": _restarted_agent,
    "volume_work": _volume,
    "volume_take": _volume,
    "volume_done": _volume,
    "volume_failed": _refused_volume,
    "volume_made": _boots_from_volumes,
}
"""What makes an agent ask for a verb, and what must follow; those that are not here it asks for all the time."""

NOT_STRUCK = {
    "step_progress",
    "guest_password",
    "consoles_wanted",
    "console_failed",
    "volume_progress",
    "volume_key",
}
"""The one is told only of steps that take seconds; when it is lost, a number on a page is older; so it is with volumes.
The other only after a guest told one, which is kept on its host until the control plane has it. Consoles are opened by
people, who try again. Keys are asked for by hosts that encrypt, again and again.
"""

FAULTS = tuple(Fault(f"door-{how}", struck(how), agents=ONE_REAL_TWO_SIMULATED) for how in Strike)
