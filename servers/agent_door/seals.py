"""Seals on leases: an agent hands a lease back, and the door must know that it wrote it, for this host.

What a lease says of its work is trusted by later writes so that they need not look it up. A seal holds all of that once
more, with a keyed hash of it, of the rest of the lease and of the host; so a lease of another host, or one that was
changed, is recognised without a query. The door goes by what the seal holds: an agent of an older release drops the
fields that it does not know, but hands the seal back whole.
"""

import base64
import binascii
import logging
from dataclasses import fields, replace
from typing import TypeVar

import msgspec

from computeagent.protocol.volume_work import VolumeOrder
from computeagent.protocol.wire import encode
from computeagent.protocol.work import AgentLease, WorkContext, WorkOrder
from controlplane.infra.secret_keys import is_keyed_hash, keyed_hash
from controlplane.kernel.errors import Fenced

Order = TypeVar("Order", bound=WorkOrder | VolumeOrder)

log = logging.getLogger(__name__)
_SALT = "servers.agent_door.seals"
_decoder = msgspec.json.Decoder(WorkContext)
_DEFAULTS = WorkContext()
_NAMES = tuple(field.name for field in fields(WorkContext) if field.name != "seal")


def order_sealed(order: Order, host: str) -> Order:
    """The same order, its lease sealed for this host."""
    content = base64.b64encode(encode(replace(order.lease.work_context, seal=""))).decode()
    seal = f"{content}.{keyed_hash(_sealed(order.lease, host, content), salt=_SALT)}"
    return replace(order, lease=replace(order.lease, work_context=replace(order.lease.work_context, seal=seal)))


def seal_opened(lease: AgentLease, host: str, verb: str) -> AgentLease:
    """The lease, with the context that its seal holds. Raises Fenced when it was not given to this host like this."""
    content, _, given = lease.work_context.seal.partition(".")
    if is_keyed_hash(given, _sealed(lease, host, content), salt=_SALT):
        sealed = _content(content)
        if sealed is not None and _is_of(lease.work_context, sealed):
            return replace(lease, work_context=sealed)
    log.warning("the agent of host %s was refused %s: its lease bears no seal for it", host, verb)
    raise Fenced(f"attempt {lease.attempt} of work {lease.work_id[:40]} was not given to host {host} like this")


def _content(content: str) -> WorkContext | None:
    try:
        return _decoder.decode(base64.b64decode(content))
    except (binascii.Error, msgspec.DecodeError):  # of another release, more than one away
        return None


def _is_of(given: WorkContext, sealed: WorkContext) -> bool:
    """Whether nothing was changed: each field is as it was given, or is not there."""
    return all(getattr(given, name) in (getattr(sealed, name), getattr(_DEFAULTS, name)) for name in _NAMES)


def _sealed(lease: AgentLease, host: str, content: str) -> bytes:
    return encode([host, lease.work_id, lease.attempt, lease.owner, lease.lease_s, content])
