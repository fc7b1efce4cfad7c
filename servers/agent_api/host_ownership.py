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
    ownership_holder,
    ownership_renew,
    ownership_transfer,
    ownerships_renew,
)
from scheduling.conf import scheduling_options
from scheduling.fleet.selectors.liveness import host_is_forced_down
from servers.models import Instance

NAMED = 3


def host_ownership_claim(*, host: str, agent_id: str, guests: Collection[uuid.UUID]) -> None:
    """Be the agent of `host`; asked again with each heartbeat. One UPDATE when it is so already.

    `agent_id` lives in the agent's state directory, `guests` are what its hypervisor has. Another directory gets the
    host of an agent that is silent, if all instances placed there are among its guests (so it is the same machine) or
    an operator declared the host dead. Raises Conflict that says who has it and what to do.
    """
    name, owner = _ownership_name(host), f"{host} {agent_id}"
    promise_s = scheduling_options().service_down_time_s
    if ownership_renew(name=name, owner=owner, seconds=promise_s):
        return
    holder = ownership_holder(name=name)
    if holder is not None and (refusal := _refusal(host, holder, guests)):
        raise Conflict(refusal, host=host)
    if not ownership_transfer(name=name, before=holder.owner if holder else None, owner=owner, seconds=promise_s):
        raise Conflict(f"Another agent took host {host} at this very moment.", host=host)


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
    name, nobody = _ownership_name(host), f"{host} revoked"
    # Again when it changed hands at this moment: whoever has it now has it by the same secret.
    while (holder := ownership_holder(name=name)) is not None and holder.owner != nobody:
        ownership_transfer(name=name, before=holder.owner, owner=nobody, seconds=0)


def _ownership_name(host: str) -> str:
    """A host's name may be longer than ownership's."""
    return "agent-" + hashlib.sha256(host.encode()).hexdigest()[:40]


def _refusal(host: str, holder: OwnershipHolder, guests: Collection[uuid.UUID]) -> str:
    """Why this agent may not have the host; empty when it may."""
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


def _placed(host: str) -> set[uuid.UUID]:
    return set(Instance.objects.filter(host=host, deleted_at__isnull=True).values_list("pk", flat=True))
