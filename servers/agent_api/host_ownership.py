"""One agent per host: the control plane remembers which state directory serves a host, and refuses any other.

The lock file that keeps two agents of one machine apart says nothing about a second machine that was given the same
name by mistake. Such an agent would find none of the host's guests and bring every one of them back: each would run
twice. Nova refuses the same by its compute_id file.
"""

import hashlib
import uuid
from collections.abc import Collection, Iterable

from controlplane.kernel.errors import Conflict
from controlplane.work.host_ownership import (
    Ownership,
    OwnershipHolder,
    owners_ending,
    ownership_end,
    ownership_holder,
    ownership_renew,
    ownership_transfer,
    ownerships_prune,
    ownerships_renew,
)
from scheduling.conf import scheduling_options
from scheduling.fleet.selectors.hosts import host_exists
from scheduling.fleet.selectors.liveness import host_is_forced_down
from servers.models import AgentCredential, Instance

NAMED = 3
REMOVED = " removed "
"""Between host and agent in the owner of a host that was removed: no agent has such a name."""
REVOKED = "revoked"
"""In place of the agent whose secret was revoked: no agent has such an id."""
NOT_LET_IN = (
    "This secret is no agent's: it was revoked, its host was removed, or another enrolment took its place. Enrol the "
    "host again."
)
NOBODY = "nobody"
"""Stands for the agent of a host that was removed before one served it."""
_REMOVED_SENTENCE = (
    "Host {host} was removed, so this agent serves no host. If it shall come back, let it in again: "
    "manage.py agent_enrol --host {host}."
)


def host_ownership_claim(*, host: str, agent_id: str, guests: Collection[uuid.UUID]) -> None:
    """Be the agent of `host`; asked again with each heartbeat. One UPDATE when it is so already.

    `agent_id` lives in the agent's state directory, `guests` are what its hypervisor has. Another directory gets the
    host of an agent that is silent, if all instances placed there are among its guests (so it is the same machine) or
    an operator declared the host dead. A state directory, or a hypervisor with guests, that is another host's gets
    none: hosts keep their names, as in Nova. Raises Conflict that says who has what, and what to do.
    """
    name, owner = _ownership_name(host), f"{host} {agent_id}"
    promise_s = scheduling_options().service_down_time_s
    if ownership_renew(name=name, owner=owner, seconds=promise_s):
        return
    holder = ownership_holder(name=name)
    refusal = _renamed(host, agent_id, guests)
    if holder is not None:
        refusal = refusal or _refusal(host, agent_id, holder, guests)
    if refusal:
        raise Conflict(refusal, host=host)
    if not ownership_transfer(name=name, before=holder.owner if holder else None, owner=owner, seconds=promise_s):
        raise Conflict(f"Another agent took host {host} at this very moment.", host=host)


def host_ownership_keep(*, host: str, ownership: Ownership) -> None:
    """Stay the agent of `host`, with each heartbeat: who is needs no guests as evidence. Raises Conflict as a claim."""
    host_ownership_claim(host=host, agent_id=ownership.owner.rpartition(" ")[2], guests=())


def host_ownership(*, host: str, agent_id: str) -> Ownership:
    """What holds as long as this agent is the one of `host`."""
    return Ownership(_ownership_name(host), f"{host} {agent_id}")


def host_ownerships_renew(agents: Iterable[tuple[str, str]]) -> list[str]:
    """Prolong what these agents (host, id) promised, where the host is still theirs: those hosts. Two statements."""
    wanted = {_ownership_name(host): (host, f"{host} {agent_id}") for host, agent_id in agents}
    owners = {owner for _, owner in wanted.values()}
    held = ownerships_renew(names=wanted, owners=owners, seconds=scheduling_options().service_down_time_s)
    return [wanted[name][0] for name in held]


def host_ownership_revoke(*, host: str) -> None:
    """Take the host from the agent that has it: no statement of it takes effect any more. It may be claimed anew."""
    name, nobody = _ownership_name(host), f"{host} {REVOKED}"
    # Again when it changed hands at this moment: whoever has it now has it by the same secret.
    while (holder := ownership_holder(name=name)) is not None and holder.owner != nobody:
        ownership_transfer(name=name, before=holder.owner, owner=nobody, seconds=0)


def host_ownership_remove(*, host: str) -> None:
    """The host is removed: nothing of its agent takes effect, and it is not brought back until it is let in again."""
    name = _ownership_name(host)
    while (holder := ownership_holder(name=name)) is None or REMOVED not in holder.owner:
        before = None if holder is None else holder.owner
        gone = f"{host}{REMOVED}{(before or NOBODY).rpartition(' ')[2]}"
        ownership_transfer(name=name, before=before, owner=gone, seconds=0)


def host_is_removed(*, host: str) -> bool:
    """Whether an admin removed it, and let it in no more since."""
    holder = ownership_holder(name=_ownership_name(host))
    return holder is not None and REMOVED in holder.owner


def host_ownership_admit(*, host: str) -> None:
    """An admin lets the host in again: the agent that served it before it was removed may serve it anew."""
    ownership_end(name=_ownership_name(host), having=REMOVED)


def host_removals_prune(*, older_s: float) -> int:
    """Forget hosts that were removed longer ago than this. Returns how many."""
    return ownerships_prune(having=REMOVED, older_s=older_s)


def _ownership_name(host: str) -> str:
    """A host's name may be longer than ownership's."""
    return "agent-" + hashlib.sha256(host.encode()).hexdigest()[:40]


def _renamed(host: str, agent_id: str, guests: Collection[uuid.UUID]) -> str:
    """Why this agent cannot be the one of `host`: it is another host's, or its hypervisor is. Empty when it can."""
    others = [owner.rpartition(" ")[0] for owner in owners_ending(f" {agent_id}")]
    if other := next((name for name in others if name != host and not name.endswith(REMOVED.rstrip())), ""):
        return (
            f"This agent's state directory is that of host {other}, and it calls itself {host} now: a host keeps its "
            f"name. Start it with --host {other}; or give {host} a state directory of its own with --state; or empty "
            f"and remove host {other} first."
        )
    if not guests or host_exists(host=host):
        return ""
    elsewhere = Instance.objects.filter(pk__in=guests, deleted_at__isnull=True).exclude(host__in=("", host))
    if (first := elsewhere.order_by("host").first()) is None:
        return ""
    return (
        f"This hypervisor has {elsewhere.count()} guests of instances on host {first.host}, and its agent calls itself "
        f"{host}, which is new: a host keeps its name. Start it with --host {first.host} on the state directory that "
        f"it had; or, if {first.host} runs these instances elsewhere, remove their guests from this hypervisor first."
    )


def _refusal(host: str, agent_id: str, holder: OwnershipHolder, guests: Collection[uuid.UUID]) -> str:
    """Why this agent may not have the host; empty when it may."""
    if REMOVED in holder.owner:
        return _REMOVED_SENTENCE.format(host=host) if holder.owner.endswith(f" {agent_id}") else ""
    if holder.owner == f"{host} {REVOKED}" and not _is_enrolled(host):
        return NOT_LET_IN  # it was let in just before the revocation
    if host_is_forced_down(host=host):
        return ""
    whose = f"host {host} is served by the agent with the id {holder.owner.rpartition(' ')[2]}"
    if not holder.is_silent:
        return (
            f"{whose}, which is alive; this agent's state directory is another one. Stop one of the two, "
            "or give this one a name of its own with --host."
        )
    missing = _placed(host) - set(guests)
    if not missing:
        return ""
    some = ", ".join(sorted(map(str, missing))[:NAMED]) + (", ..." if len(missing) > NAMED else "")
    return (
        f"{whose}, which is silent, and {len(missing)} of its instances are not on this hypervisor ({some}): they may "
        "still run elsewhere. Start the agent on the state directory that it had, or, if that machine is dead, "
        "force its service down and start this one again."
    )


def _is_enrolled(host: str) -> bool:
    return AgentCredential.objects.filter(host=host, revoked_at__isnull=True).exists()


def _placed(host: str) -> set[uuid.UUID]:
    return set(Instance.objects.filter(host=host, deleted_at__isnull=True).values_list("pk", flat=True))
