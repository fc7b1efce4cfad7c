"""Keeping the triggers of the fleet's changes in the database, and what they wrote short."""

from collections.abc import Sequence
from typing import Any

from django.db import connection, transaction

from scheduling.models.change_triggers import EVERYTHING, triggers_present, triggers_wanted

HORIZON = "horizon"
LOG_RETENTION_S = 900.0
"""Changes are kept at least so long: longer than a reader may sleep and still believe what it read before."""

# Whoever did not look while triggers were missing has not heard of what changed meanwhile.
_ALL_CHANGED = {
    "postgresql": "INSERT INTO scheduling_fleetchange (kind, key, changed)"
    " SELECT %s, '', pg_current_xact_id()::text::bigint",
    "sqlite": "INSERT INTO scheduling_fleetchange (kind, key, changed) SELECT %s, '', 0",
}
# A horizon's stamp lies below every transaction that was open when it was written. Who looked later has seen all that
# is below it.
_HORIZON = {
    "postgresql": "INSERT INTO scheduling_fleetchange (kind, key, changed)"
    " SELECT %s, '', pg_snapshot_xmin(pg_current_snapshot())::text::bigint",
    "sqlite": "INSERT INTO scheduling_fleetchange (kind, key, changed) SELECT %s, '', 0",
}
_PRUNE = {
    "postgresql": "DELETE FROM scheduling_fleetchange WHERE changed < (SELECT MAX(changed) FROM scheduling_fleetchange"
    " WHERE kind = %s AND at < statement_timestamp() - make_interval(secs => %s))",
    "sqlite": "DELETE FROM scheduling_fleetchange WHERE id < (SELECT MAX(id) FROM scheduling_fleetchange"
    " WHERE kind = %s AND at < strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now', '-' || %s || ' seconds'))",
}


def fleet_triggers_ensure() -> None:
    """Make the triggers that are missing, drop those that are out of date. One query where there is nothing to do."""
    present = triggers_present()
    wanted = {trigger.name: trigger for trigger in triggers_wanted()}
    if present.keys() == wanted.keys():
        return
    with transaction.atomic(), connection.cursor() as cursor:
        for name, table in present.items():
            if name not in wanted:
                cursor.execute(_drop(name, table))
        for name, trigger in wanted.items():
            if name not in present:
                for statement in trigger.statements:
                    cursor.execute(statement)
        cursor.execute(_ALL_CHANGED[connection.vendor], [EVERYTHING])


def fleet_triggers_drop_before_migrate(*, using: str = "default", plan: Sequence[object] = (), **_: Any) -> None:
    """Receiver of pre_migrate: a table cannot be altered or dropped while a trigger speaks of it.

    Until they are made again after the migration, every reader finds them missing and reads everything at each look.
    """
    if using != connection.alias or not plan:
        return
    with transaction.atomic(), connection.cursor() as cursor:
        for name, table in triggers_present().items():
            cursor.execute(_drop(name, table))


def fleet_triggers_ensure_after_migrate(*, using: str = "default", **_: Any) -> None:
    """Receiver of post_migrate, which also fires after a flush. Does nothing while a watched table is missing."""
    tables = set(connection.introspection.table_names()) if using == connection.alias else set()
    needed = {trigger.table for trigger in triggers_wanted()} | {"scheduling_fleetchange"}
    if needed <= tables:
        fleet_triggers_ensure()


def fleet_changes_prune() -> int:
    """Forget the changes that every reader has seen; how many rows went."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_PRUNE[connection.vendor], [HORIZON, LOG_RETENTION_S])
        gone: int = cursor.rowcount
        cursor.execute(_HORIZON[connection.vendor], [HORIZON])
    return gone


def _drop(name: str, table: str) -> str:
    """Names come from the catalogue and begin with our prefix."""
    if connection.vendor == "postgresql":
        return f'DROP TRIGGER IF EXISTS "{name}" ON "{table}"; DROP FUNCTION IF EXISTS "{name}"()'
    return f'DROP TRIGGER IF EXISTS "{name}"'
