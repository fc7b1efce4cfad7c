"""Who acts in this thread, and through which door: begun where a request comes in, read where an entry is written."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol
from uuid import UUID

PAGE, API, OPENSTACK, ADMIN, COMMAND = "page", "api", "openstack", "admin", "command"
BULK, AGENT, SYSTEM = "bulk", "agent", "system"
DOORS = (PAGE, API, OPENSTACK, ADMIN, COMMAND, BULK, AGENT, SYSTEM)


class CallerLike(Protocol):
    """What is read of a caller; identity's own class has it."""

    @property
    def user_id(self) -> UUID: ...
    @property
    def username(self) -> str: ...
    @property
    def project_id(self) -> UUID: ...
    @property
    def own_project_id(self) -> UUID | None: ...


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts. `user_id` is empty for whoever runs a command on the server, and for an agent."""

    name: str
    user_id: UUID | None = None
    project_id: UUID | None = None


CONTROL_PLANE = Actor("control plane")
"""Who acts where nobody asked for it and it is to be found in a history all the same."""


@dataclass(slots=True)
class ActorScope:
    """One request, command or piece of work of a person. `actor` may become known only after it began.

    `is_inside`: a service that will write an entry is under way, the one of the action `under_way`, so those that it
    calls write none. `refusals` are
    written when the scope ends, because the transaction of what was refused is undone.
    """

    door: str
    address: str = ""
    actor: Actor | None = None
    find_actor: Callable[[], Actor | None] | None = None
    is_inside: bool = False
    under_way: str = ""
    on_behalf: Actor | None = None
    refusals: list[Any] = field(default_factory=list)

    def who(self) -> Actor | None:
        """The actor, looked for where none was named yet; while a command acts for a user, that user."""
        if self.on_behalf is not None:
            return self.on_behalf
        if self.actor is None and self.find_actor is not None:
            self.actor = self.find_actor()
        return self.actor


_current: ContextVar[ActorScope | None] = ContextVar("actor_scope", default=None)


def actor_scope_now() -> ActorScope | None:
    """None where nobody acts: reading requests, agents, the control plane's own work."""
    return _current.get()


@contextmanager
def actor_scope(scope: ActorScope | None) -> Iterator[None]:
    """Everything inside is done by this actor; by nobody for None."""
    token = _current.set(scope)
    try:
        yield
    finally:
        _current.reset(token)


def actor_known(caller: CallerLike) -> None:
    """A door found out who calls."""
    scope = _current.get()
    if scope is not None:
        scope.actor = Actor(caller.username, caller.user_id, caller.own_project_id)
