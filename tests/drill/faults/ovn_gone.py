"""OVN's northbound database goes away and comes back while networks are changed."""

from tests.drill.faults.fault import Evidence, Fault, expect, is_active, log_of, until
from tests.drill.stage import Stage, agents

TOLD_WITHIN_S = 60.0
TWO_SIMULATED = tuple(agents(qemu=0, test=2))


def ovn_away(stage: Stage) -> Evidence:
    """Killed, with instances, a router and rules made meanwhile: they are made, what OVN has to know waits, and is told
    when it is back.
    """
    assert stage.ovn is not None
    before = {"instance": guest_told(stage)}
    stage.ovn.kill()
    until(lambda: not _connection(stage)["is_connected"], TOLD_WITHIN_S, "admins read that OVN is away")
    uid = guest(stage)
    until(lambda: is_active(stage, uid), TOLD_WITHIN_S, f"{uid} is ACTIVE while OVN is away")
    stage.load.networks[1].route()
    waiting = len(stage.rows()["ovn_changes"])
    expect(waiting, "what OVN has to know waits")
    stage.ovn.start_again()
    took = until(lambda: not stage.rows()["ovn_changes"], TOLD_WITHIN_S, "OVN is told")
    expect(not stage.ovn_differences(), "OVN has what rows say")
    expect(_ports(stage) >= 2, "OVN has the ports of both guests")
    return {"waited": waiting, "told_s": took, **before}


def ovn_comes_back_empty(stage: Stage) -> Evidence:
    """Killed, and its file lost: all is written anew, also by a conductor that is killed in the midst of that."""
    assert stage.ovn is not None
    point = "servers.networks.ovn.sync:differences_written"
    uid = guest_told(stage)
    ports = _ports(stage)
    stage.ovn.kill()
    stage.ovn.forget()
    until(lambda: not _connection(stage)["is_connected"], TOLD_WITHIN_S, "admins read that OVN is away")
    stage.arm(point, "kill")
    stage.ovn.start_again()
    killed: list[str] = []
    until(lambda: killed.append(stage.fired(point) or "") or killed[-1], TOLD_WITHIN_S, "somebody writes all anew")
    expect(killed[-1].startswith("conductor"), f"a conductor writes to OVN, not {killed[-1]}")
    took = until(lambda: not stage.ovn_differences(), TOLD_WITHIN_S, "OVN has what rows say")
    expect(_ports(stage) == ports, "OVN has the ports that it had")
    return {"instance": uid, "ports": ports, "written_anew_s": took}


def ovn_restarts_empty(stage: Stage) -> Evidence:
    """Killed, and there again at once with an empty file: the reconnect alone says that all has to be compared."""
    assert stage.ovn is not None
    uid = guest_told(stage)
    ports = _ports(stage)
    stage.ovn.kill()
    stage.ovn.forget()
    stage.ovn.start_again()
    took = until(lambda: _ports(stage) == ports, TOLD_WITHIN_S, "OVN has the ports that it had")
    until(lambda: not stage.ovn_differences(), TOLD_WITHIN_S, "OVN has what rows say")
    return {"instance": uid, "ports": ports, "written_anew_s": took}


def guest(stage: Stage) -> str:
    """Ask for an instance in the network of OVN; its id."""
    before = set(stage.load.promises.created)
    stage.load.create_in([{"network": stage.load.networks[1].scene.network}])
    made = stage.load.promises.created - before
    expect(made, "the API accepts a create")
    return made.pop()


def guest_told(stage: Stage) -> str:
    """One that runs, and OVN has its port."""
    uid = guest(stage)
    until(lambda: is_active(stage, uid), TOLD_WITHIN_S, f"{uid} is ACTIVE")
    until(
        lambda: not stage.rows()["ovn_changes"], TOLD_WITHIN_S, f"OVN is told of {uid}\n{log_of(stage, 'conductor-0')}"
    )
    return uid


def _connection(stage: Stage) -> dict[str, object]:
    """As admins read it."""
    return stage.load.ask("ovn/", None, "GET") or {"is_connected": True}


def _ports(stage: Stage) -> int:
    """Those that guests have."""
    assert stage.ovn is not None
    found = stage.ovn.nb("--bare", "--columns=name,type", "find", "Logical_Switch_Port", 'type=""')
    return len([line for line in found.splitlines() if line.strip()])


FAULTS = (
    Fault("ovn-away", ovn_away, agents=TWO_SIMULATED, has_ovn=True),
    Fault("ovn-comes-back-empty", ovn_comes_back_empty, agents=TWO_SIMULATED, has_ovn=True),
    Fault("ovn-restarts-empty", ovn_restarts_empty, agents=TWO_SIMULATED, has_ovn=True),
)
