"""The rows of one decision: in one statement where that is possible, else one after the other.

On PostgreSQL one statement writes all of them, in one round trip and, outside a transaction of the caller, without
BEGIN and COMMIT. It writes nothing at all unless the table of host names and the snapshots that the decision stands on
are there: they may have been pruned or rolled back since this process wrote them. Then, and on SQLite, the long way
makes them.

By itself that statement does not wait for the disk. What the caller does next with the chosen hosts, or with the
refusal, is a transaction that does, and the database's log is written in order: whoever can name a decision after a
crash finds it.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from django.db import connection, models, transaction

from scheduling.models import (
    DecisionInstance,
    DecisionReason,
    DecisionRefusedHosts,
    FleetSnapshot,
    HostNames,
    SchedulingDecision,
)

_MAX_SHORT = 64


@dataclass(slots=True)
class DecisionRows:
    """All that is written of one decision. `snapshots`: the fleet that it saw, bases first; the last is its own."""

    decision: SchedulingDecision
    instances: Sequence[DecisionInstance] = ()
    reasons: Sequence[DecisionReason] = ()
    refused: DecisionRefusedHosts | None = None
    host_names: HostNames | None = None
    snapshots: Sequence[FleetSnapshot] = field(default_factory=tuple)


def decision_write(rows: DecisionRows) -> None:
    """Write them all or none."""
    if not _written_shortly(rows):
        with transaction.atomic():
            _write(rows)


def host_names_write(host_names: HostNames) -> None:
    """Store the names, if they are not there. A table of host names that was about to be pruned stays."""
    if not HostNames.objects.filter(pk=host_names.pk, unused_since=None).exists():
        HostNames.objects.bulk_create(
            [host_names], update_conflicts=True, unique_fields=["digest"], update_fields=["unused_since"]
        )


def _write(rows: DecisionRows) -> None:
    """Two writers of the same table of host names or snapshot do not disturb each other: it has the same name."""
    if rows.host_names is not None:
        host_names_write(rows.host_names)
    digests = [row.digest for row in rows.snapshots]
    there = set(FleetSnapshot.objects.filter(digest__in=digests).values_list("digest", flat=True)) if digests else set()
    missing = [row for row in rows.snapshots if row.digest not in there]
    FleetSnapshot.objects.bulk_create(missing, ignore_conflicts=True)
    rows.decision.save(force_insert=True)
    DecisionInstance.objects.bulk_create(rows.instances)
    DecisionReason.objects.bulk_create(rows.reasons)
    if rows.refused is not None:
        DecisionRefusedHosts.objects.bulk_create([rows.refused])


def _written_shortly(rows: DecisionRows) -> bool:
    """Whether the one statement wrote them. False: nothing has happened, take the long way."""
    many = max(len(rows.instances), len(rows.reasons)) > _MAX_SHORT
    if connection.vendor != "postgresql" or rows.host_names is None or many:
        return False
    bases = rows.snapshots[:-1]
    made: list[models.Model] = [*rows.snapshots[-1:]]
    made += [rows.decision, *rows.instances, *rows.reasons, *([rows.refused] if rows.refused is not None else [])]
    tables = tuple(Counter(map(type, made)).items())
    text = _statement(len(bases), tables, alone=not connection.in_atomic_block)
    values = [
        each.get_db_prep_save(each.pre_save(row, True), connection) for row in made for each in _columns(type(row))
    ]
    parameters = [rows.host_names.pk, *(row.digest for row in bases), *values]
    with connection.cursor() as cursor:
        cursor.execute(text, parameters)
        (written,) = cursor.fetchone()
    return bool(written)


@lru_cache(maxsize=16)
def _columns(kind: type[models.Model]) -> tuple[Any, ...]:
    """Without keys that the database counts up."""
    return tuple(each for each in kind._meta.concrete_fields if not isinstance(each, models.AutoField))


@lru_cache(maxsize=256)
def _statement(bases: int, tables: tuple[tuple[type[models.Model], int], ...], *, alone: bool) -> str:
    """The text for so many rows of each table. Names come from the models, values are parameters.

    `alone`: it is a transaction of its own, so how it is committed concerns nobody else.
    """
    marks = ", ".join(["%s"] * bases)
    snapshots, names_table = FleetSnapshot._meta.db_table, HostNames._meta.db_table
    has_bases = f"(SELECT count(*) FROM {snapshots} WHERE digest IN ({marks})) = {bases}"  # noqa: S608
    is_there = f"EXISTS (SELECT 1 FROM {names_table} WHERE digest = %s AND unused_since IS NULL)"  # noqa: S608
    commit = " AND set_config('synchronous_commit', 'off', true) = 'off'" if alone else ""
    go = f"SELECT 1 WHERE {is_there}{f' AND {has_bases}' if bases else ''}{commit}"
    inserts = ", ".join(f"rows_{at} AS ({_insert(kind, count)})" for at, (kind, count) in enumerate(tables))
    return f"WITH go AS MATERIALIZED ({go}), {inserts} SELECT count(*) FROM go"  # noqa: S608


def _insert(kind: type[models.Model], count: int) -> str:
    columns = _columns(kind)
    names = ", ".join(f'"{each.column}"' for each in columns)
    one = ", ".join(f"%s::{_type(each)}" for each in columns)
    values = ", ".join([f"({one})"] * count)
    skip = " ON CONFLICT DO NOTHING" if kind is FleetSnapshot else ""
    return (
        f"INSERT INTO {kind._meta.db_table} ({names})"  # noqa: S608
        f" SELECT each.* FROM go, (VALUES {values}) AS each ({names}){skip}"
    )


def _type(column: Any) -> str:
    """What the values of the column are in the database; of a foreign key, what they refer to."""
    name: str = column.rel_db_type(connection) if column.is_relation else column.db_type(connection)
    return name.removesuffix(" CHECK").split(" CHECK")[0]
