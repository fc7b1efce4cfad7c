"""Writing differences: a transaction of python-ovs changes rows in place, and sends what changed at its end."""

from collections.abc import Sequence
from typing import Any

from ovs.db.idl import Idl, Row, Transaction

from servers.networks.ovn.difference import EXTERNAL_IDS, ROOTS, Difference, row_by_key
from servers.networks.ovn.objects.row import PARENT, TAG, NorthboundRow

PARENT_TABLES = {
    ("Logical_Switch_Port", "ports"): ("Logical_Switch",),
    ("Logical_Router_Port", "ports"): ("Logical_Router",),
    ("ACL", "acls"): ("Port_Group", "Logical_Switch"),
    ("Gateway_Chassis", "gateway_chassis"): ("Logical_Router_Port",),
    ("Logical_Router_Static_Route", "static_routes"): ("Logical_Router",),
    ("Logical_Router_Policy", "policies"): ("Logical_Router",),
    ("NAT", "nat"): ("Logical_Router",),
}
"""The tables whose column may have rows of this one."""


class DifferenceWriter:
    """Puts differences right in one transaction. What an existing row has of others is changed by its members alone, so
    that a switch of a thousand ports is not written anew for one; a row that the transaction makes takes whole columns.
    """

    def __init__(self, idl: Idl, txn: Transaction) -> None:
        self._idl, self._txn = idl, txn
        self._made: dict[tuple[str, str], Row] = {}
        self._members: dict[tuple[str, str], dict[str, list[Row]]] = {}

    def write(self, found: Sequence[Difference]) -> None:
        """All of them: parents before what is in them. A row whose parent is not there (any more) is left out: it goes
        with the parent, or comes with it.
        """
        for one in found:
            if one.wanted is None:
                self._remove(one.row)
            elif one.row is not None:
                self._change(one, one.wanted)
            else:
                self._insert(one.wanted)
        for made, columns in self._members.items():
            for name, rows in columns.items():
                setattr(self._made[made], name, rows)

    def _change(self, one: Difference, wanted: NorthboundRow) -> None:
        for name, value in one.columns.items():
            if name in wanted.references:
                self._refer(one.row, name, wanted.references[name])
            elif name == EXTERNAL_IDS:
                _tag(one.row, wanted)
            else:
                setattr(one.row, name, list(value) if isinstance(value, tuple) else value)
        for key in one.joins:
            self._add("Port_Group", key, "ports", one.row)
        for key in one.leaves:
            if (group := row_by_key(self._idl, "Port_Group", key)) is not None:
                group.delvalue("ports", one.row)

    def _insert(self, wanted: NorthboundRow) -> None:
        tables = PARENT_TABLES.get((wanted.table, wanted.column), ())
        parent_table = next((table for table in tables if self._find(table, wanted.parent) is not None), "")
        if wanted.parent and not parent_table:
            return
        row = self._txn.insert(self._idl.tables[wanted.table])
        for name, value in wanted.columns.items():
            setattr(row, name, list(value) if isinstance(value, tuple) else value)
        row.external_ids = wanted.external_ids
        self._made[wanted.table, wanted.key] = row
        for name, key in wanted.references.items():
            self._refer(row, name, key)
        if wanted.parent:
            self._add(parent_table, wanted.parent, wanted.column, row)
        for key in wanted.groups:
            self._add("Port_Group", key, "ports", row)

    def _find(self, table: str, key: str) -> Any:
        return self._made.get((table, key)) or row_by_key(self._idl, table, key)

    def _refer(self, row: Row, name: str, key: str) -> None:
        other = self._find("DHCP_Options", key) if key else None
        setattr(row, name, [other] if other is not None else [])

    def _add(self, table: str, key: str, column: str, row: Row) -> None:
        if (table, key) in self._made:
            self._members.setdefault((table, key), {}).setdefault(column, []).append(row)
        elif (there := row_by_key(self._idl, table, key)) is not None:
            there.addvalue(column, row)

    def _remove(self, row: Row) -> None:
        """Of a row that another one has, it is taken out there, which ends it."""
        table = row._table.name
        if table in ROOTS:
            row.delete()
            return
        for (child, column), parent_tables in PARENT_TABLES.items():
            for parent_table in parent_tables if child == table else ():
                if parent := row_by_key(self._idl, parent_table, row.external_ids.get(PARENT, "")):
                    parent.delvalue(column, row)


def _tag(row: Row, wanted: NorthboundRow) -> None:
    """By its entries alone: others than ours stay. And python-ovs 4.0 loses a row that is indexed by a column, as it is
    by this one, once the whole column is written.
    """
    there = row.external_ids
    for name in there:
        if name.startswith(TAG) and name not in wanted.external_ids:
            row.delkey(EXTERNAL_IDS, name)
    for name, value in wanted.external_ids.items():
        if there.get(name) != value:
            row.setkey(EXTERNAL_IDS, name, value)
