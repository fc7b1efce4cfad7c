"""Seals on leases: an agent hands a lease back, and the door must know that it wrote it, for this host.

What a lease says of its work is trusted by later writes so that they need not look it up. A seal is a keyed hash of all
of it and of the host, so a lease of another host, or one that was changed, is recognised without a query.
"""

import logging
from dataclasses import astuple, replace

from django.utils.crypto import constant_time_compare, salted_hmac

from computeagent.protocol.wire import encode
from computeagent.protocol.work import AgentLease, WorkOrder
from controlplane.kernel.errors import Fenced

log = logging.getLogger(__name__)
_SALT = "servers.agent_door.seals"


def order_sealed(order: WorkOrder, host: str) -> WorkOrder:
    """The same order, its lease sealed for this host."""
    work_context = replace(order.lease.work_context, seal=_seal(order.lease, host))
    return replace(order, lease=replace(order.lease, work_context=work_context))


def seal_require(lease: AgentLease, host: str, verb: str) -> None:
    """Raises Fenced for a lease that was not given to this host, or not like this."""
    if not constant_time_compare(lease.work_context.seal, _seal(lease, host)):
        log.warning("the agent of host %s was refused %s: its lease bears no seal for it", host, verb)
        raise Fenced(f"attempt {lease.attempt} of work {lease.work_id[:40]} was not given to host {host} like this")


def _seal(lease: AgentLease, host: str) -> str:
    context = astuple(replace(lease.work_context, seal=""))
    value = encode([host, lease.work_id, lease.attempt, lease.owner, lease.lease_s, context])
    return salted_hmac(_SALT, value, algorithm="sha256").hexdigest()
