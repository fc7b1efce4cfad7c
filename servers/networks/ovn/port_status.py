"""Writing to ports whether OVN has them in force, as its database says."""

import logging
import queue
import threading
from collections.abc import Mapping
from enum import Enum

from django.db import close_old_connections, connection, transaction
from django.db.models.functions import Now

from computeagent.protocol.networks import NetworkBackendKind, PortStatus
from controlplane.kernel.ids import parse_uuid
from servers.models import Port
from servers.networks.services.ovn_changes import ovn_wake
from servers.networks.services.port_locks import ports_lock

log = logging.getLogger(__name__)
BATCH = 500


def port_statuses_write(up: Mapping[str, bool]) -> int:
    """Write these, {port's id: whether it is in force}. Four statements at most. Returns how many changed.

    One that its host could not plug stays so until its host says otherwise.
    """
    changed = 0
    for is_up, status in ((True, PortStatus.ACTIVE), (False, PortStatus.DOWN)):
        ids = [found for one, value in up.items() if value is is_up and (found := parse_uuid(one)) is not None]
        if ids:
            rows = Port.objects.filter(pk__in=ids, network__kind=NetworkBackendKind.OVN.value)
            with transaction.atomic():
                differ = ports_lock(rows.exclude(status__in=(status.value, PortStatus.ERROR.value)))
                changed += Port.objects.filter(pk__in=differ).update(status=status.value, updated_at=Now())
    return changed


class _Sign(Enum):
    END = "end"
    WAKE = "wake"


class PortStatusWriter:
    """A thread that writes what a connection's thread tells it, many at once when many come at once: the connection
    itself never waits for our database.
    """

    def __init__(self) -> None:
        self._events: queue.SimpleQueue[tuple[str, bool] | _Sign] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="ovn-port-status", daemon=True)
        self._thread.start()

    def tell(self, port_id: str, is_up: bool) -> None:
        """Of one port, the later counts. Never waits."""
        self._events.put((port_id, is_up))

    def wake(self) -> None:
        """Wake whoever tells OVN, since there is more to do than rows say. Never waits."""
        self._events.put(_Sign.WAKE)

    def close(self) -> None:
        """Write what was told and end."""
        self._events.put(_Sign.END)
        self._thread.join(timeout=5)

    def _run(self) -> None:
        events: list[tuple[str, bool] | _Sign] = []
        while _Sign.END not in events:
            events = [self._events.get()]
            while len(events) < BATCH and not self._events.empty():
                events.append(self._events.get())
            close_old_connections()
            try:
                if _Sign.WAKE in events:
                    ovn_wake()
                port_statuses_write(dict(one for one in events if isinstance(one, tuple)))
            except Exception:
                log.exception("what OVN said was not written; the next whole comparison does")
        connection.close()
