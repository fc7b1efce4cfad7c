"""Which host a router of bridges lives on, and when it leaves it. Values only.

A router keeps nothing that a host could lose: it is made anew from its row wherever it goes. So silence is enough to
move it, other than an instance. The connections that it kept track of end.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from controlplane.kernel.texts import phrase as _


@dataclass(frozen=True, slots=True)
class RouterHost:
    """A host as routers see it. `silent_s`: seconds since it was heard of, None for never. `routers`: how many live
    there. `problems`: what it lacks for networks of bridges; empty: it can carry them.
    """

    name: str
    is_up: bool = True
    is_disabled: bool = False
    is_forced_down: bool = False
    silent_s: float | None = 0.0
    can_carry: bool = True
    traits: frozenset[str] = field(default_factory=frozenset)
    routers: int = 0


class LeaveReason(StrEnum):
    """Why a router cannot stay where it is."""

    REMOVED = "it was removed"
    DOWN = "it has been down for {silent_s:.0f} s"
    FORCED_DOWN = "an administrator declared it dead"
    DISABLED = "it is disabled"
    CANNOT_CARRY = "it carries no networks any more"
    NO_PHYSICAL_NETWORK = "it has no bridge to the physical network {network}"


def leave_reason(host: RouterHost | None, *, physical: Mapping[str, str], max_silence_s: float) -> str:
    """Why the router on this host has to go, in words that follow `left HOST, since`; empty: it stays.

    `physical` maps the traits that are needed to names of physical networks. A host that is down for a shorter time
    than `max_silence_s` keeps its routers: an agent that is restarted is no reason.
    """
    if host is None:
        return LeaveReason.REMOVED
    if host.is_forced_down:
        return LeaveReason.FORCED_DOWN
    if not host.is_up and (host.silent_s is None or host.silent_s > max_silence_s):
        return "it never reported" if host.silent_s is None else LeaveReason.DOWN.format(silent_s=host.silent_s)
    if host.is_disabled:
        return LeaveReason.DISABLED
    if not host.can_carry:
        return LeaveReason.CANNOT_CARRY
    missing = [name for trait, name in sorted(physical.items()) if trait not in host.traits]
    return LeaveReason.NO_PHYSICAL_NETWORK.format(network=missing[0]) if missing else ""


def host_choose(hosts: Sequence[RouterHost], *, physical: Mapping[str, str]) -> tuple[str, str]:
    """(host, problem): one of both is empty. The host that has the fewest routers of those that can have it; by name
    among equals, so that the same hosts always give the same answer.
    """
    live = [host for host in hosts if host.is_up and not host.is_disabled and not host.is_forced_down]
    carrying = [host for host in live if host.can_carry]
    fit = [host for host in carrying if set(physical) <= host.traits]
    if fit:
        return min(fit, key=lambda host: (host.routers, host.name)).name, ""
    if not hosts:
        return "", _("No host can have it: there is none.")
    if not live:
        return "", _("No host can have it: of {count}, none is up and enabled.", count=len(hosts))
    if not carrying:
        return "", _(
            "No host can have it: of {count} that are up and enabled, none carries networks of bridges.",
            count=len(live),
        )
    names = ", ".join(sorted(physical.values()))
    return "", _(
        "No host can have it: of {count} that carry networks, none has a bridge to {names}.",
        count=len(carrying),
        names=names,
    )
