"""What verbs stand on: a database that answers, and a host that is still the agent's."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import InterfaceError, OperationalError, close_old_connections, connection, transaction

from controlplane.infra.database_errors import is_disk_full
from controlplane.kernel.errors import Conflict, Unavailable
from controlplane.work.host_ownership import Ownership, ownership_holds, ownership_lock


@contextmanager
def database_reached() -> Iterator[None]:
    """On a connection that is alive as far as is known; a database that is away becomes Unavailable."""
    try:
        if not connection.in_atomic_block:  # in the midst of a transaction it would end that
            close_old_connections()
        yield
    except (OperationalError, InterfaceError) as error:
        what = "has no room left on its disk" if is_disk_full(error) else "does not answer"
        raise Unavailable(f"the database {what}: {error}") from error


class OwnedHost:
    """Verbs of the agent of one host. `ownership`: who must own it for a write to take effect, where that was told."""

    def __init__(self, ownership: Ownership | None = None) -> None:
        self._ownership = ownership

    @contextmanager
    def _owned(self, host: str) -> Iterator[None]:
        """One transaction during which the host stays this agent's. Raises Conflict when it is another one's."""
        if self._ownership is None:
            yield
            return
        with transaction.atomic():
            if not ownership_lock(self._ownership):
                raise _another(host)
            yield

    def _require_owner(self, host: str) -> None:
        """Raises Conflict when the host is another agent's at this moment."""
        if self._ownership is not None and not ownership_holds(self._ownership):
            raise _another(host)


def _another(host: str) -> Conflict:
    return Conflict(f"Host {host} is served by another agent now.", host=host)
