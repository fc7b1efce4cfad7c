"""The thread of a conductor that tells OVN: of all conductors one at a time, with one connection that stays."""

import logging
import threading
import time

from django.db import close_old_connections, connection
from django.db.models.functions import Now

from controlplane.kernel.errors import Unavailable
from controlplane.kernel.texts import phrase as _
from controlplane.work.conf import work_options
from controlplane.work.jobs import worker_name
from controlplane.work.named_leases import lease_renew
from controlplane.work.wakeups import waiter_open
from servers.conf import ovn_options
from servers.models import OvnCheck
from servers.networks.ovn.northbound import Northbound
from servers.networks.ovn.port_status import PortStatusWriter, port_statuses_write
from servers.networks.ovn.sync import NORTHBOUND, changes_compact, changes_sync, whole_sync
from servers.networks.services.ovn_changes import OVN_QUEUE, ovn_whole_due

log = logging.getLogger(__name__)
LEASE = "ovn-northbound"
WAIT_S = 2.0
BACK_OFF_S, BACK_OFF_MAX_S = 1.0, 60.0
READ_ANEW_PAUSE_S = 5.0
"""From one comparison that a reconnect made due to the next one: a database that comes and goes does not keep us
comparing all the time.
"""


class OvnThread:
    """What one process does of it. The lease spares the others a copy of OVN's database; that no two write at once is
    kept by the lock of that database.
    """

    def __init__(self, stopping: threading.Event, *, wait_s: float = WAIT_S) -> None:
        self._stopping = stopping
        self._wait_s = wait_s
        self._northbound: Northbound | None = None
        self._status: PortStatusWriter | None = None
        self._back_off_s = 0.0
        self._whole_at = 0.0
        self._reads = 0
        self._calm_at = 0.0

    def run(self) -> None:
        """Until `stopping` is set. Whatever fails is logged and tried again."""
        waiter = waiter_open(OVN_QUEUE)
        while not self._stopping.is_set():
            try:
                close_old_connections()
                self._turn()
                waiter.wait(self._wait_s)
            except Unavailable as error:
                self._rest(error)
            except Exception as error:
                log.exception("OVN was not told")
                self._rest(error)
        self._disconnect()
        waiter.close()
        connection.close()

    def _turn(self) -> None:
        """Do all that is due."""
        if not _lease_renew():
            self._disconnect()
            return
        northbound = self._connected()
        if not northbound.has_lock:
            raise Unavailable(_("another process holds the lock of OVN's northbound database"))
        if time.monotonic() >= self._whole_at:
            whole_sync(northbound)
            port_statuses_write(dict(northbound.ports_up()))
            self._whole_at = time.monotonic() + ovn_options().ovn_reconcile_interval_s
        self._compare_if_read_anew(northbound)
        while changes_sync(northbound) and not self._stopping.is_set():
            _lease_renew()
            self._compare_if_read_anew(northbound)
        self._back_off_s = 0.0

    def _compare_if_read_anew(self, northbound: Northbound) -> None:
        """A server that was away too short for us to notice may have lost what it had. The row outlives this process;
        `changes_sync` does what it says.
        """
        if northbound.reads == self._reads:
            return
        self._reads = northbound.reads
        now = time.monotonic()
        if ovn_whole_due(after_s=self._calm_at - now):
            self._calm_at = max(now, self._calm_at) + READ_ANEW_PAUSE_S
            log.info("the connection to OVN's northbound database came back: everything is compared")

    def _connected(self) -> Northbound:
        if self._northbound is not None and self._northbound.is_connected:
            return self._northbound
        self._disconnect()
        self._status = PortStatusWriter()
        self._northbound = Northbound.connect(ovn_options(), ports_up=self._status.tell, read_anew=self._status.wake)
        self._reads = 1
        self._whole_at = 0.0
        connection_report(is_connected=True)
        return self._northbound

    def _disconnect(self) -> None:
        if self._northbound is not None:
            self._northbound.close()
            self._northbound = None
        if self._status is not None:
            self._status.close()
            self._status = None

    def _rest(self, error: Exception) -> None:
        """The longer the more often it failed."""
        self._back_off_s = min(max(BACK_OFF_S, self._back_off_s * 2), BACK_OFF_MAX_S)
        log.warning("%s; again in %s s", error, self._back_off_s)
        try:
            self._disconnect()
            connection_report(is_connected=False, problem=str(error))
            changes_compact()
        except Exception:  # the database may be away as well
            log.exception("it could not be written that OVN is away")
        self._stopping.wait(self._back_off_s)


def _lease_renew() -> bool:
    """Whether this process is the one. Long enough for some turns of the thread, whatever a worker's lease is."""
    return lease_renew(name=LEASE, owner=worker_name(), seconds=max(work_options().lease_s, 2 * WAIT_S))


def connection_report(*, is_connected: bool, problem: str = "") -> None:
    """Write for admins how the connection is, when that changed."""
    report = {"is_connected": is_connected, "problem": problem[:2000], "owner": worker_name()}
    OvnCheck.objects.get_or_create(name=NORTHBOUND)
    OvnCheck.objects.filter(name=NORTHBOUND).exclude(**report).update(**report, changed_at=Now())
