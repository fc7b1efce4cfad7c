"""libvirt says no, or does not come back: at the definition, the start and the destruction of a guest."""

import time
from collections.abc import Callable

from tests.drill.faults.fault import (
    Evidence,
    Fault,
    attempts,
    delete,
    expect,
    failed_builds,
    instance,
    is_active,
    make,
    query,
    runs_on,
    until,
    works,
)
from tests.drill.stage import Stage

WORDS = "internal error: refused by the drill"
HANGS_BEYOND_LEASE_S = 8
HANGS_BEYOND_DEADLINE_S = 22
DEADLINE_S = 10
SHORT_DEADLINE = {"BUILD_DEADLINE_S": str(DEADLINE_S)}


def _refused_build(call: str) -> Callable[[Stage], Evidence]:
    def run(stage: Stage) -> Evidence:
        """The guest is built on the next host, the first is charged with it, and the attempts say what happened."""
        before = failed_builds(stage)
        stage.arm(f"libvirt.{call}", f"refuse {WORDS}")
        uid = make(stage)
        took = until(lambda: is_active(stage, uid), 90, f"{uid} is ACTIVE although libvirt refused it once")
        tried = attempts(stage, uid)
        expect([one["outcome"] for one in tried] == ["rescheduled", "active"], f"one more attempt was made: {tried}")
        expect(WORDS in tried[0]["reason"], f"the first attempt says why: {tried[0]['reason']!r}")
        expect(tried[0]["host"] != tried[1]["host"], f"the second host is another one: {tried}")
        expect(runs_on(stage, uid) == [tried[1]["host"]], "it runs there, and only there")
        _was_charged(stage, before, str(tried[0]["host"]))
        return {"active_s": took, "attempts": [(one["host"], one["outcome"]) for one in tried]}

    return run


def _was_charged(stage: Stage, before: dict[str, int], host: str) -> None:
    """One failure counts against this host, and none against any other: once the guest is built on another one."""

    def grown() -> dict[str, int]:
        after = failed_builds(stage)
        return {name: after[name] - before.get(name, 0) for name in after if after[name] > before.get(name, 0)}

    until(grown, 30, f"{host} is charged, since another host built the guest")
    expect(grown() == {host: 1}, f"only {host} is charged, with one failure: {grown()}")


def refused_everywhere(stage: Stage) -> Evidence:
    """Every host refuses: ERROR with libvirt's words, on no host, with three attempts and no claim left."""
    # What is armed fires once, and the earlier points of a build come first: each of three hosts meets another one.
    for point in ("computeagent.driver.prepare_disks:before", "libvirt.defineXML", "libvirt.create"):
        stage.arm(point, f"refuse {WORDS}")
    uid = make(stage)
    until(lambda: (instance(stage, uid) or {}).get("vm_state") == "error", 90, f"{uid} is in ERROR")
    tried = attempts(stage, uid)
    expect(len(tried) == len({one["host"] for one in tried}) == 3, f"three hosts were tried: {tried}")
    fault = stage.rows()["faults"].get(uid, "")
    expect(WORDS in fault, f"its fault says why: {fault!r}")
    expect(not (instance(stage, uid) or {}).get("host"), "it is on no host")
    return {"fault": fault, "attempts": [(one["host"], one["outcome"]) for one in tried]}


def refused_destroy(stage: Stage) -> Evidence:
    """The deletion is tried again by the same host until the guest is gone; until then the instance stays deleting."""
    uid = _active(stage)
    stage.arm("libvirt.destroy", f"refuse {WORDS}")
    delete(stage, uid)
    until(lambda: stage.fired("libvirt.destroy"), 90, "the destruction is refused")
    took = until(lambda: instance(stage, uid) is None, 90, f"{uid} is deleted after all")
    expect(not runs_on(stage, uid), "its guest is gone")
    (work,) = works(stage, uid, "delete")
    return {"deleted_s": took, "attempts_of_the_work": work["attempt"]}


def hanging_start(stage: Stage) -> Evidence:
    """Longer than the lease and shorter than the deadline: the lease is renewed meanwhile, nobody else begins."""
    stage.arm("libvirt.create", f"hang {HANGS_BEYOND_LEASE_S}")
    uid = make(stage)
    took = until(lambda: is_active(stage, uid), HANGS_BEYOND_LEASE_S + 20, f"{uid} is ACTIVE in the end")
    (work,) = works(stage, uid, "build")
    expect(work["attempt"] == 1, f"its one attempt was never taken over: {work}")
    expect(len(attempts(stage, uid)) == 1, "no other host was asked")
    expect(len(runs_on(stage, uid)) == 1, "it runs once")
    return {"hung_s": HANGS_BEYOND_LEASE_S, "active_s": took}


def hanging_start_beyond_deadline(stage: Stage) -> Evidence:
    """ERROR at the deadline, while the call still hangs, with a fault that names the step and how long it hung.

    The host keeps the instance, as nobody knows what the hanging call will still do: it is deleted there, afterwards.
    """
    began = time.monotonic()
    stage.arm("libvirt.create", f"hang {HANGS_BEYOND_DEADLINE_S}")
    uid = make(stage)
    until(lambda: stage.fired("libvirt.create"), 8, "the start hangs")
    until(
        lambda: (instance(stage, uid) or {}).get("vm_state") == "error",
        DEADLINE_S + 6,
        f"{uid} is in ERROR soon after its deadline",
    )
    ended_s = time.monotonic() - began
    fault = stage.rows()["faults"].get(uid, "")
    expect("spawning" in fault, f"the fault names the step: {fault!r}")
    expect(any(word.rstrip(",.;:)").isdigit() for word in fault.split()), f"the fault says how long: {fault!r}")
    host = (instance(stage, uid) or {}).get("host")
    expect(host, "the host keeps it")
    delete(stage, uid)
    gone_s = until(lambda: instance(stage, uid) is None, HANGS_BEYOND_DEADLINE_S + 20, f"{uid} can be deleted")
    expect(not runs_on(stage, uid), "nothing of it runs, whatever the hanging call did when it came back")
    return {"in_error_s": round(ended_s, 1), "fault": fault, "deleted_s": gone_s}


def hanging_destroy(stage: Stage) -> Evidence:
    """Longer than the lease: one attempt, and the instance is gone only when its guest is."""
    uid = _active(stage)
    stage.arm("libvirt.destroy", f"hang {HANGS_BEYOND_LEASE_S}")
    delete(stage, uid)
    until(lambda: stage.fired("libvirt.destroy"), 90, "the destruction hangs")
    expect(instance(stage, uid) is not None, "it is not called deleted while its guest may run")
    took = until(lambda: instance(stage, uid) is None, HANGS_BEYOND_LEASE_S + 20, f"{uid} is deleted")
    (work,) = works(stage, uid, "delete")
    expect(work["attempt"] == 1, f"its one attempt was never taken over: {work}")
    return {"hung_s": HANGS_BEYOND_LEASE_S, "deleted_s": took}


def hanging_while_others_build(stage: Stage) -> Evidence:
    """One hanging guest does not keep its host from building and deleting others."""
    stage.arm("libvirt.create", f"hang {HANGS_BEYOND_LEASE_S}")
    hung = make(stage, host="t1")
    until(lambda: stage.fired("libvirt.create"), 90, "the start hangs")
    other = make(stage, host="t1")
    took = until(lambda: is_active(stage, other), HANGS_BEYOND_LEASE_S - 1, "another is built beside it")
    delete(stage, other)
    until(lambda: instance(stage, other) is None, 5, "and deleted")
    until(lambda: is_active(stage, hung), HANGS_BEYOND_LEASE_S + 20, "the hanging one is ACTIVE in the end")
    return {"other_active_s": took}


def _active(stage: Stage) -> str:
    uid = make(stage)
    until(lambda: is_active(stage, uid), 90, f"{uid} is ACTIVE")
    return uid


def heals(stage: Stage) -> list[tuple[object, ...]]:
    """What the control plane put right by itself: kind and how often."""
    return query(stage, "SELECT kind, count(*) FROM work_heal GROUP BY kind")


FAULTS = (
    Fault("libvirt-refuses-define", _refused_build("defineXML")),
    Fault("libvirt-refuses-start", _refused_build("create")),
    Fault("libvirt-refuses-everywhere", refused_everywhere),
    Fault("libvirt-refuses-destroy", refused_destroy),
    Fault("libvirt-hangs-at-start", hanging_start),
    Fault("libvirt-hangs-while-others-build", hanging_while_others_build),
    Fault("libvirt-hangs-at-destroy", hanging_destroy),
    Fault("libvirt-hangs-beyond-deadline", hanging_start_beyond_deadline, settings=SHORT_DEADLINE),
)
