"""The connection to OVN's northbound database. Beside it only `difference`, `write` and `tls` import
ovsdbapp and ovs.

A lock of that database keeps any other process of ours from writing: whoever lost it, or stood still while another
one took it, has its transaction refused by the database itself.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from ovs.db.idl import ROW_CREATE, ROW_UPDATE, Row, Transaction
from ovsdbapp.backend.ovs_idl.command import BaseCommand
from ovsdbapp.backend.ovs_idl.connection import Connection, OvsdbIdl
from ovsdbapp.backend.ovs_idl.idlutils import get_schema_helper
from ovsdbapp.exceptions import OvsdbAppException
from ovsdbapp.schema.ovn_northbound.impl_idl import OvnNbApiIdlImpl

from controlplane.kernel.errors import Unavailable
from controlplane.kernel.texts import phrase as _
from servers.conf import OvnOptions
from servers.networks.ovn.difference import COLUMNS, Difference, differences, indexes_make
from servers.networks.ovn.objects.row import KEY, NorthboundRow
from servers.networks.ovn.tls import addresses_of, tls_problems, tls_use
from servers.networks.ovn.write import DifferenceWriter

log = logging.getLogger(__name__)
DATABASE, LOCK = "OVN_Northbound", "kilonova"
TIMEOUT_S = 60.0
CONNECT_TIMEOUT_S = 10.0
PROBE_INTERVAL_MS = 10_000
PortsUp = Callable[[str, bool], None]


class NorthboundRefused(Exception):
    """The database refused a transaction for what it says. The message is the database's own."""


class _Idl(OvsdbIdl):  # type: ignore[misc]  # ovsdbapp has no types
    """The copy of the database, which says when a guest's port went up or down, and when all of it was read anew."""

    ports_up: PortsUp | None = None
    read_anew: Callable[[], None] | None = None
    reads = 0
    """How often the whole database was read: at first, and again after each time that the connection came back."""

    def run(self) -> bool:
        """Called in the connection's thread for what came since. Begun and complete are never within one call."""
        was_complete = self.state == self.IDL_S_MONITORING
        changed = bool(super().run())
        if not was_complete and self.state == self.IDL_S_MONITORING:
            self.reads += 1
            if self.read_anew is not None and self.reads > 1:
                self.read_anew()
        return changed

    def notify(self, event: str, row: Row, updates: Row | None = None) -> None:
        """Called in the connection's thread for each row that changed."""
        if self.ports_up is None or row._table.name != "Logical_Switch_Port":
            return
        if event == ROW_CREATE or (event == ROW_UPDATE and hasattr(updates, "up")):
            kind, _, port_id = row.external_ids.get(KEY, "").partition(":")
            if kind == "port" and not row.type and row.up:
                self.ports_up(port_id, bool(row.up[0]))


class _Api(OvnNbApiIdlImpl):  # type: ignore[misc]
    """As ovsdbapp has it, with a connection of each object's own."""

    ovsdb_connection: Any = None

    def __init__(self, connection: Connection) -> None:
        self.ovsdb_connection = connection
        super().__init__(connection, auto_index=False)


class _Reconcile(BaseCommand):  # type: ignore[misc]
    """Compares and writes in one transaction, in the connection's thread: nothing changes between both."""

    def __init__(
        self, api: _Api, wanted: Mapping[str, Sequence[NorthboundRow]], is_whole: bool, but: Collection[str]
    ) -> None:
        super().__init__(api)
        self.wanted, self.is_whole, self.but = wanted, is_whole, but

    def run_idl(self, txn: Transaction) -> None:
        self.result = differences(self.api.idl, self.wanted, is_whole=self.is_whole, but=self.but)
        DifferenceWriter(self.api.idl, txn).write(self.result)

    def __str__(self) -> str:
        return f"reconcile {len(self.wanted)} owners"


class Northbound:
    """One connection. Use from one thread."""

    def __init__(self, api: _Api) -> None:
        self._api = api

    @classmethod
    def connect(
        cls,
        options: OvnOptions,
        *,
        ports_up: PortsUp | None = None,
        read_anew: Callable[[], None] | None = None,
        has_lock: bool = True,
    ) -> "Northbound":
        """Connect and read all of it. `ports_up` is told of each guest's port whether OVN has it in force, first of
        all and then of each change; `read_anew` is called whenever `reads` has grown. Both are called in a thread of
        the connection and must not wait. Without `has_lock` it is for reading alone.

        Raises Unavailable.
        """
        tls_use(options)
        servers = ",".join(addresses_of(options))
        try:
            helper = get_schema_helper(servers, DATABASE)
            for table, columns in COLUMNS.items():
                helper.register_columns(table, [*columns, "external_ids"])
            # Of a cluster it finds the leader, and the next one when that is gone: whoever else answers may be behind.
            idl = _Idl(servers, helper, probe_interval=PROBE_INTERVAL_MS)
            idl.ports_up, idl.read_anew = ports_up, read_anew
            indexes_make(idl)
            if has_lock:
                idl.set_lock(LOCK)
            connection = Connection(idl, timeout=CONNECT_TIMEOUT_S)
            api = _Api(connection)
            connection.timeout = TIMEOUT_S
        except Exception as error:
            # Whatever ovs or ovsdbapp raise: they have no error of their own for all that may fail here.
            reasons = "; ".join(tls_problems(options)) or str(error)
            raise Unavailable(
                _(
                    "OVN's northbound database at {ovn_northbound} is away: {reasons}",
                    ovn_northbound=options.ovn_northbound,
                    reasons=reasons,
                )
            ) from error
        return cls(api)

    def close(self) -> None:
        """Give the lock back and disconnect."""
        self._api.ovsdb_connection.stop(timeout=5)

    @property
    def is_connected(self) -> bool:
        """Whether the database answers, as far as is known."""
        return bool(self._api.idl._session.is_connected())

    @property
    def reads(self) -> int:
        """How often the whole database was read. The connection comes back by itself after the server was restarted;
        once this number has grown, the server may be another one, with an empty or an old database.
        """
        return int(self._api.idl.reads)

    @property
    def has_lock(self) -> bool:
        """Whether this connection may write."""
        return bool(self._api.idl.has_lock)

    def reconcile(
        self,
        wanted: Mapping[str, Sequence[NorthboundRow]],
        *,
        is_whole: bool = False,
        but: Collection[str] = (),
    ) -> list[Difference]:
        """Bring the rows of these owners to what is wanted, in one transaction; with `is_whole` rows of all other
        owners go, but of those in `but`.

        Returns what differed. Raises NorthboundRefused for what the database does not take, Unavailable for all else.
        """
        command = _Reconcile(self._api, wanted, is_whole, but)
        try:
            with self._api.transaction(check_error=True, log_errors=False) as txn:
                txn.add(command)
        except RuntimeError as error:
            if self.has_lock and self.is_connected and str(error).startswith("OVSDB Error"):
                raise NorthboundRefused(str(error)) from error
            raise Unavailable(_("OVN's northbound database was not written: {error}", error=error)) from error
        except OvsdbAppException as error:
            raise Unavailable(_("OVN's northbound database does not answer: {error}", error=error)) from error
        return list(command.result)

    def differences(self, wanted: Mapping[str, Sequence[NorthboundRow]]) -> list[Difference]:
        """All that differs between what is wanted and all rows of ours. Nothing is written."""
        with self._api.ovsdb_connection.lock:
            return differences(self._api.idl, wanted, is_whole=True)

    def ports_up(self) -> Iterable[tuple[str, bool]]:
        """(id, whether it is in force) of each guest's port."""
        with self._api.ovsdb_connection.lock:
            rows = list(self._api.idl.tables["Logical_Switch_Port"].rows.values())
            named = [(row.external_ids.get(KEY, "").partition(":"), row.up) for row in rows if not row.type]
        return [(key[2], bool(up[0])) for key, up in named if key[0] == "port" and up]
