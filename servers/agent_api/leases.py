"""Verbs under a lease: the lease as the work's row has it, and what an agent is told when it holds no more."""

import functools
import uuid
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from computeagent.protocol.work import AgentLease
from controlplane.kernel.errors import Conflict, Fenced, NotFound
from controlplane.work.host_ownership import Ownership
from controlplane.work.work import WorkLease as RowLease
from servers.agent_api.reached import OwnedHost, database_reached
from servers.volumes.domain.work_rules import VOLUME_KINDS

C = TypeVar("C", bound=OwnedHost)
P = ParamSpec("P")
R = TypeVar("R")

NOBODY = uuid.UUID(int=0)


def row_lease(lease: AgentLease, ownership: Ownership | None = None) -> RowLease:
    """As the work's row has it; a context that is not of this lease finds no row, which is Fenced."""
    work_context = lease.work_context
    subject = uuid.UUID(work_context.instance_uuid) if work_context.instance_uuid else NOBODY
    return RowLease(uuid.UUID(lease.work_id), lease.attempt, work_context.kind, subject, ownership)


def reaching(verb: "Callable[Concatenate[C, P], R]") -> "Callable[Concatenate[C, P], R]":
    """Conflicts and things that are not there are told as they are."""

    @functools.wraps(verb)
    def call(conductor: C, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with database_reached():
            return verb(conductor, *args, **kwargs)

    return call


def leased(verb: "Callable[Concatenate[C, P], R]") -> "Callable[Concatenate[C, P], R]":
    """The same for a verb under a lease: a state that moved on under the agent's feet (deleted, taken over) is Fenced,
    since the agent must stop this work.
    """
    reached = reaching(verb)

    @functools.wraps(verb)
    def call(conductor: C, /, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return reached(conductor, *args, **kwargs)
        except Fenced:
            raise
        except (Conflict, NotFound) as error:
            raise Fenced(error.message) from error

    return call


def instance_work(lease: AgentLease) -> AgentLease:
    """The lease, if it is on work on an instance. Raises Fenced for one on a volume, whose subject is no instance."""
    return _of(lease, is_volume=False)


def volume_work(lease: AgentLease) -> AgentLease:
    """The lease, if it is on work on a volume. Raises Fenced."""
    return _of(lease, is_volume=True)


def _of(lease: AgentLease, *, is_volume: bool) -> AgentLease:
    if (lease.work_context.kind in VOLUME_KINDS) is not is_volume:
        raise Fenced(f"work {lease.work_id[:40]} is of another kind than this verb is for")
    return lease
