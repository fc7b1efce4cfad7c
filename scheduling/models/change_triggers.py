"""Triggers that write down which rows of the fleet changed, whoever changes them: services, the admin, or SQL by hand.

A table is watched by a `ChangeSource`. On PostgreSQL the stamp of a change is the number of the writing transaction,
which costs nothing and queues nobody; on SQLite it is the id of the row that is written here. Heartbeats are no
changes: `last_seen_up` that moves on says nothing that a reader does not find out by itself.

The names of triggers hold a digest of what they do. So one look at the database's catalogue tells whether they are all
there and up to date: a table that a migration of SQLite made anew has lost its own.
"""

import hashlib
from dataclasses import dataclass

from django.db import connection

from controlplane.infra.change_feed import TRANSACTION_STAMP

PREFIX = "fleet_change_"
EVERYTHING = "everything"
"""The kind that stands for all: a table was emptied at once."""
_TABLE = "scheduling_fleetchange"
_EVENTS = ("INSERT", "UPDATE", "DELETE")


@dataclass(frozen=True, slots=True)
class ChangeSource:
    """A table to be watched. `key`: the column that names the changed thing (empty keys are not told).

    `parts` are expressions over a row, written `{row}.column`: an UPDATE is a change when one of them differs, or when
    `also` (over `{old}` and `{new}`) holds.
    """

    kind: str
    table: str
    key: str
    parts: tuple[str, ...]
    also: str = ""


@dataclass(frozen=True, slots=True)
class Trigger:
    """One trigger, and the function it calls, by their common name."""

    name: str
    table: str
    statements: tuple[str, ...]


def _columns(*names: str) -> tuple[str, ...]:
    return tuple(f"{{row}}.{name}" for name in names)


_SOURCES: dict[str, ChangeSource] = {}


def source_register(source: ChangeSource) -> None:
    """Watch one more table. Called when the apps are ready, before any migration ends."""
    _SOURCES[source.table] = source


def triggers_wanted() -> tuple[Trigger, ...]:
    """All triggers, as this database wants them."""
    make = _postgres if connection.vendor == "postgresql" else _sqlite
    return tuple(trigger for source in _SOURCES.values() for trigger in make(source))


def triggers_present() -> dict[str, str]:
    """{name: table} of the triggers of this kind that the database has. One query."""
    query = (
        "SELECT t.tgname, c.relname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid"
        " WHERE t.tgname LIKE %s AND t.tgenabled <> 'D' AND pg_table_is_visible(c.oid)"
        if connection.vendor == "postgresql"
        else "SELECT name, tbl_name FROM sqlite_master WHERE type = 'trigger' AND name LIKE %s"
    )
    with connection.cursor() as cursor:
        cursor.execute(query, [PREFIX + "%"])
        return dict(cursor.fetchall())


def triggers_are_whole() -> bool:
    """Whether every change is told. Without, nobody may rely on what it read before."""
    return triggers_present().keys() >= {trigger.name for trigger in triggers_wanted()}


def _name(source: ChangeSource, event: str, body: str) -> str:
    digest = hashlib.sha256(body.encode()).hexdigest()[:8]
    return f"{PREFIX}{source.table[:30]}_{event.lower()}_{digest}"


def _condition(source: ChangeSource, *, differs: str) -> str:
    pairs = [f"{part.format(row='OLD')} {differs} {part.format(row='NEW')}" for part in source.parts]
    return " OR ".join([*pairs, *([f"({source.also.format(old='OLD', new='NEW')})"] if source.also else [])])


def _rows_of(source: ChangeSource, event: str) -> list[str]:
    """The rows that say which one changed: of an UPDATE both, for the key may be what changed."""
    rows = {"INSERT": ["NEW"], "DELETE": ["OLD"]}.get(event, ["OLD", "NEW"])
    if event == "UPDATE" and f"{{row}}.{source.key}" not in source.parts:
        return ["NEW"]
    return rows


def _sqlite(source: ChangeSource) -> list[Trigger]:
    made = []
    for event in _EVENTS:
        when = f" WHEN {_condition(source, differs='IS NOT')}" if event == "UPDATE" else ""
        writes = " ".join(
            f"INSERT INTO {_TABLE} (kind, key, changed)"
            f" SELECT '{source.kind}', {row}.{source.key}, 0 WHERE {row}.{source.key} <> '';"
            for row in _rows_of(source, event)
        )
        body = f"AFTER {event} ON {source.table} FOR EACH ROW{when} BEGIN {writes} END"
        name = _name(source, event, body)
        made.append(Trigger(name, source.table, (f"CREATE TRIGGER {name} {body}",)))
    return made


def _postgres(source: ChangeSource) -> list[Trigger]:
    made = []
    for event in (*_EVENTS, "TRUNCATE"):
        body, when = _postgres_writes(source, event), ""
        if event == "UPDATE":
            when = f" WHEN ({_condition(source, differs='IS DISTINCT FROM')})"
        each = "STATEMENT" if event == "TRUNCATE" else "ROW"
        name = _name(source, event, body + when)
        function = (
            f"CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS"
            f" $$ BEGIN {body} RETURN NULL; END $$"
        )
        trigger = (
            f"CREATE TRIGGER {name} AFTER {event} ON {source.table} FOR EACH {each}{when} EXECUTE FUNCTION {name}()"
        )
        made.append(Trigger(name, source.table, (function, trigger)))
    return made


def _postgres_writes(source: ChangeSource, event: str) -> str:
    """Table names are qualified by nothing: the writer's search_path has found the watched table already."""
    insert = f"INSERT INTO {_TABLE} (kind, key, changed) SELECT"
    stamp = TRANSACTION_STAMP
    if event == "TRUNCATE":
        return f"{insert} '{EVERYTHING}', '', {stamp};"
    return " ".join(
        f"{insert} '{source.kind}', {row}.{source.key}::text, {stamp} WHERE {row}.{source.key}::text <> '';"
        for row in _rows_of(source, event)
    )


# Metrics are other ones each time, and few policies look at them: those read them by themselves.
_NODE = (
    "id", "service_id", "host", "hypervisor_hostname", "hypervisor_type", "hypervisor_version", "host_ip",
    "disk_available_least_gib", "failed_builds", "supported_instances", "cpu_info", "stats",
    "numa_topology", "pci_pools",
)  # fmt: skip
_SERVICE = ("id", "host", "binary", "disabled", "disabled_reason", "forced_down", "version")
# Backwards or to nothing, as an operator or a test may set it; forwards is a heartbeat.
_NOT_A_HEARTBEAT = (
    "({old}.last_seen_up IS NULL) <> ({new}.last_seen_up IS NULL) OR {new}.last_seen_up < {old}.last_seen_up"
)

for _source in (
    ChangeSource("node", "scheduling_computenode", "id", _columns(*_NODE)),
    ChangeSource("service", "scheduling_service", "id", _columns(*_SERVICE), also=_NOT_A_HEARTBEAT),
    ChangeSource("mapping", "scheduling_hostmapping", "host", _columns("host", "cell_id")),
    ChangeSource("cell", "scheduling_cell", "id", _columns("id", "name", "disabled")),
    ChangeSource("aggregate", "scheduling_aggregate", "id", _columns("id", "name", "metadata")),
    ChangeSource("aggregate", "scheduling_aggregatehost", "aggregate_id", _columns("aggregate_id", "host")),
    ChangeSource(
        "policy", "scheduling_schedulerpolicy", "id",
        _columns("id", "name", "version", "body", "state", "shadow", "shadow_share"),
    ),
):  # fmt: skip
    source_register(_source)
