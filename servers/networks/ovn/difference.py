"""Comparing the northbound database with what is wanted. Rows are those of python-ovs."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ovs.db.idl import Idl, Row

from controlplane.kernel.texts import phrase as _
from servers.networks.ovn.objects.row import GROUPS, KEY, OWNER, TAG, NorthboundRow, Value

COLUMNS: dict[str, tuple[str, ...]] = {
    "Logical_Switch": ("name", "ports", "acls"),
    "DHCP_Options": ("cidr", "options"),
    "Address_Set": ("name", "addresses"),
    "Port_Group": ("name", "ports", "acls"),
    "ACL": ("direction", "priority", "match", "action"),
    "Logical_Router": ("name", "enabled", "options", "ports", "static_routes", "policies", "nat"),
    "Logical_Switch_Port": (
        *("name", "type", "addresses", "port_security", "enabled", "options", "up"),
        *("dhcpv4_options", "dhcpv6_options"),
    ),
    "Logical_Router_Port": ("name", "mac", "networks", "ipv6_ra_configs", "gateway_chassis"),
    "Gateway_Chassis": ("name", "chassis_name", "priority"),
    "Logical_Router_Static_Route": ("ip_prefix", "nexthop", "output_port"),
    "Logical_Router_Policy": ("priority", "match", "action", "nexthops"),
    "NAT": ("type", "external_ip", "logical_ip", "external_mac", "logical_port"),
}
"""What is read of the database: these tables, parents before what is in them, and these columns of each."""
ROOTS = frozenset({"Logical_Switch", "DHCP_Options", "Address_Set", "Port_Group", "Logical_Router"})
"""Tables whose rows stand by themselves. The others' rows go when nothing has them any more."""
EXTERNAL_IDS = "external_ids"
BY_KEY, BY_OWNER = "kilonova_key", "kilonova_owner"


@dataclass(slots=True)
class Difference:
    """One row that is not as it is wanted: missing (`row` is None), not wanted (`wanted` is None), or other in
    `columns`. `joins` and `leaves` are keys of port groups.
    """

    wanted: NorthboundRow | None
    row: Any = None
    columns: dict[str, Value] = field(default_factory=dict)
    joins: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()
    words: str = ""

    @property
    def owner(self) -> str:
        """Whose row it is."""
        return self.wanted.owner if self.wanted else str(self.row.external_ids.get(OWNER, ""))


def indexes_make(idl: Idl) -> None:
    """Let rows be found by our key and owner. Called before the first row comes."""
    for table in COLUMNS:
        for name, entry in ((BY_KEY, KEY), (BY_OWNER, OWNER)):
            index = idl.index_create(table, name)
            index.add_column("external_ids", key=lambda row, entry=entry: row.external_ids.get(entry, ""))


def differences(
    idl: Idl,
    wanted: Mapping[str, Sequence[NorthboundRow]],
    *,
    is_whole: bool = False,
    but: Collection[str] = (),
) -> list[Difference]:
    """What differs of the owners in `wanted`; with `is_whole` rows of all other owners (but of `but`) are not wanted,
    and who is in which port group is compared with the groups themselves.
    """
    order = {table: place for place, table in enumerate(COLUMNS)}
    found: list[Difference] = []
    members = _members(idl) if is_whole else None
    for owner, rows in wanted.items():
        there = _rows_of(idl, owner)
        for row in rows:
            same = there.pop((row.table, row.key), [])
            found += _compared(idl, row, same[0], members) if same else [_missing(row)]
            found += [_unwanted(one) for one in same[1:]]
        found += [_unwanted(one) for rest in there.values() for one in rest]
    if is_whole:
        found += [_unwanted(row) for row in _others(idl, {*wanted, *but})]
    return sorted(found, key=lambda one: order[one.wanted.table if one.wanted else one.row._table.name])


def _rows_of(idl: Idl, owner: str) -> dict[tuple[str, str], list[Row]]:
    """{(table, key): rows}. Rows without an owner are others': none of them is ever found here."""
    found: dict[tuple[str, str], list[Row]] = {}
    for table in COLUMNS if owner else ():
        entry = idl.tables[table].rows.IndexEntry(external_ids={OWNER: owner})
        for row in idl.index_equal(table, BY_OWNER, entry):
            if key := row.external_ids.get(KEY):
                found.setdefault((table, key), []).append(row)
    return found


def _others(idl: Idl, wanted: Collection[str]) -> Iterator[Row]:
    for table in COLUMNS:
        for row in list(idl.tables[table].rows.values()):
            ids = row.external_ids
            if KEY in ids and ids.get(OWNER) not in wanted:
                yield row


def row_by_key(idl: Idl, table: str, key: str) -> Row | None:
    """The row of ours with this key."""
    entry = idl.tables[table].rows.IndexEntry(external_ids={KEY: key})
    return next(iter(idl.index_equal(table, BY_KEY, entry)), None)


def _members(idl: Idl) -> dict[str, set[Any]]:
    """{key of a port group: ids of the switch ports in it}"""
    groups = idl.tables["Port_Group"].rows.values()
    return {key: {port.uuid for port in row.ports} for row in groups if (key := row.external_ids.get(KEY))}


def _missing(row: NorthboundRow) -> Difference:
    return Difference(row, joins=row.groups, words=_("{table} {key} is missing.", table=row.table, key=row.key))


def _unwanted(row: Row) -> Difference:
    return Difference(
        None,
        row,
        words=_(
            "{table} {external_ids} is explained by nothing.",
            table=row._table.name,
            external_ids=row.external_ids.get(KEY),
        ),
    )


def _compared(idl: Idl, wanted: NorthboundRow, row: Row, members: Mapping[str, set[Any]] | None) -> list[Difference]:
    columns = {name: value for name, value in wanted.columns.items() if _value(getattr(row, name)) != _plain(value)}
    ids = row.external_ids
    for name, key in wanted.references.items():
        if [one.external_ids.get(KEY) for one in getattr(row, name)] != ([key] if key else []):
            columns[name] = ()
    was = set(ids.get(GROUPS, "").split())
    if members is not None:
        was = {key for key, ports in members.items() if row.uuid in ports}
    joins, leaves = set(wanted.groups) - was, was - set(wanted.groups)
    if {name: value for name, value in ids.items() if name.startswith(TAG)} != wanted.external_ids:
        columns[EXTERNAL_IDS] = wanted.external_ids
    if not (columns or joins or leaves):
        return []
    said = [f"{name} is {_value(getattr(row, name))!r}, not {_plain(value)!r}" for name, value in columns.items()]
    said += [f"it is not in {key}" for key in sorted(joins)] + [f"it is in {key}" for key in sorted(leaves)]
    words = f"{wanted.table} {wanted.key}: {'; '.join(said)}."
    return [Difference(wanted, row, columns, tuple(joins), tuple(leaves), words)]


def _value(value: Any) -> Any:
    """As `_plain` has it. Sets come as lists, in no order."""
    if isinstance(value, list):
        return sorted(str(one.external_ids.get(KEY)) if isinstance(one, Row) else one for one in value)
    return value


def _plain(value: Value) -> Any:
    if isinstance(value, tuple):
        return sorted(value)
    return dict(value) if isinstance(value, Mapping) else value
