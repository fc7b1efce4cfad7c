"""The statements of work that run for every piece of it, several times: written in SQL, one round trip for many rows.

PostgreSQL and SQLite read the same text, but for the clock, JSON and the lock. Each is the compare-and-set that
`controlplane.work.work` speaks of: what is expected stands in the WHERE, and the rows that it changed come back.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any
from uuid import UUID

from django.db import connection

from controlplane.infra.db import later_sql, later_value, now_sql, uuid_value
from controlplane.work.hints import WORK, changed
from controlplane.work.host_ownership import OWNED_SQL, Ownership
from controlplane.work.models import Work, WorkState

CHUNK = 100
Attempt = tuple[UUID, int, str, UUID]
"""Id of the work, number of the attempt, kind and subject: what a lease names, and every write compares."""

_MINE = """id = held.column1 AND attempt = held.column2 AND kind = held.column3 AND subject = held.column4
   AND state = 'running' AND lease_until > {now}"""
_FREE = """(state = 'waiting' OR (state = 'running' AND lease_until < {now}))
   AND deadline_at > {now} AND attempt < max_attempts"""
# Of several, what somebody else holds a lock of is left: they take it, end it, or wake it anew.
_WHICH = "IN (SELECT id FROM work_work WHERE id IN ({ids}) ORDER BY id FOR UPDATE SKIP LOCKED)"
_INSERT = """
INSERT INTO work_work (id, queue, kind, subject, max_attempts, request_id, arguments, deadline_at,
                        state, attempt, lease_owner, step, outcome, woken_at, created_at, updated_at)
""".strip()
_TAKE = """
UPDATE work_work
   SET state = 'running', attempt = attempt + 1, lease_owner = %s, lease_until = {later},
       started_at = COALESCE(started_at, {now})
 WHERE id {which} AND {free} {queue}
RETURNING {columns}
"""
_TAKE_AGAIN = """
UPDATE work_work SET lease_until = {later}
 WHERE id = %s AND queue = %s AND state = 'running' AND lease_owner = %s AND lease_until > {now} {owned}
RETURNING {columns}
"""
_FENCE = """
UPDATE work_work SET lease_until = {later}, updated_at = {now} {step}
  FROM (VALUES {rows}) AS held WHERE {mine}
RETURNING id
"""
_FINISH = """
UPDATE work_work
   SET state = %s, outcome = {outcome}, finished_at = {now}, lease_until = NULL, lease_owner = '', updated_at = {now}
  FROM (VALUES {rows}) AS held WHERE {mine}
RETURNING id
"""


def rows_insert(rows: Sequence[Work], *, deadlines_s: Sequence[float]) -> set[UUID]:
    """Write these, waiting, each with a deadline so many seconds from now. Ids of those that were written: the others'
    subjects have open work of the same kind.
    """
    written: set[UUID] = set()
    for at in range(0, len(rows), CHUNK):
        parameters: list[Any] = []
        chunk = rows[at : at + CHUNK]
        for row, deadline_s in zip(chunk, deadlines_s[at : at + CHUNK], strict=True):
            who = uuid_value(row.pk), row.queue, row.kind, uuid_value(row.subject)
            parameters += [*who, row.max_attempts, row.request_id, json.dumps(row.arguments), later_value(deadline_s)]
        written |= _ids(_insert_text(connection.vendor, len(chunk)), parameters)
    if written:
        changed(WORK)
    return written


def rows_take(
    ids: Iterable[UUID | str], *, owner: str, lease_s: float, queue: str = "", ownership: Ownership | None = None
) -> list[Work]:
    """Take those that wait or whose lease ran out, for one attempt more. Whatever somebody else is taking is left.

    Here and below, nothing takes effect unless `ownership` holds.
    """
    wanted = [uuid_value(one) for one in ids]
    if not wanted:
        return []
    parameters = [owner, later_value(lease_s), *wanted, *([queue] if queue else []), *_owner_values(ownership)]
    text = _take_text(connection.vendor, len(wanted), bool(queue), ownership is not None)
    taken = list(Work.objects.raw(text, parameters))
    if taken:
        changed(WORK)
    return taken


def row_take_again(
    work_id: UUID | str, *, owner: str, lease_s: float, queue: str, ownership: Ownership | None = None
) -> Work | None:
    """The row that this owner took and still holds, its lease prolonged and its attempt the same."""
    text = _take_again_text(connection.vendor, ownership is not None)
    parameters = [later_value(lease_s), uuid_value(work_id), queue, owner, *_owner_values(ownership)]
    return next(iter(Work.objects.raw(text, parameters)), None)


def rows_fence(
    attempts: Iterable[Attempt], *, lease_s: float, step: str | None = None, ownership: Ownership | None = None
) -> set[UUID]:
    """Prolong the leases that still hold; the ids of those."""
    wanted = sorted(attempts)
    if not wanted:
        return set()
    text = _fence_text(connection.vendor, len(wanted), step is not None, ownership is not None)
    held = [value for one in wanted for value in _values(one)]
    return _ids(text, [later_value(lease_s), *([] if step is None else [step]), *held, *_owner_values(ownership)])


def rows_finish(
    ended: Mapping[Attempt, Mapping[str, Any]], *, state: WorkState, ownership: Ownership | None = None
) -> set[UUID]:
    """End the work of leases that still hold, each with its outcome; the ids of those."""
    if not ended:
        return set()
    held: list[Any] = []
    for one, outcome in sorted(ended.items(), key=itemgetter(0)):
        held += [*_values(one), json.dumps(outcome)]
    text = _finish_text(connection.vendor, len(ended), ownership is not None)
    finished = _ids(text, [state.value, *held, *_owner_values(ownership)])
    if finished:
        changed(WORK)
    return finished


def _owner_values(ownership: Ownership | None) -> tuple[str, ...]:
    return () if ownership is None else (ownership.name, ownership.owner)


def _values(one: Attempt) -> tuple[Any, ...]:
    work_id, attempt, kind, subject = one
    return uuid_value(work_id), attempt, kind, uuid_value(subject)


def _ids(text: str, parameters: Sequence[Any]) -> set[UUID]:
    with connection.cursor() as cursor:
        cursor.execute(text, parameters)
        return {UUID(str(pk)) for (pk,) in cursor.fetchall()}


@lru_cache(maxsize=128)
def _insert_text(vendor: str, count: int) -> str:
    now = now_sql()
    row = f"(%s, %s, %s, %s, %s, %s, %s, {later_sql()}, 'waiting', 0, '', '', '{{}}', {now}, {now}, {now})"
    return f"{_INSERT} VALUES {', '.join([row] * count)} ON CONFLICT DO NOTHING RETURNING id"


def _columns() -> str:
    return ", ".join(f'"{each.column}"' for each in Work._meta.concrete_fields)


@lru_cache(maxsize=4)
def _take_again_text(vendor: str, is_owned: bool) -> str:
    del vendor  # `later_sql` and `now_sql` differ by it
    owned = OWNED_SQL if is_owned else ""
    return _TAKE_AGAIN.strip().format(later=later_sql(), now=now_sql(), owned=owned, columns=_columns())


@lru_cache(maxsize=128)
def _take_text(vendor: str, count: int, has_queue: bool, is_owned: bool) -> str:
    ids = ", ".join(["%s"] * count)
    return _TAKE.strip().format(
        later=later_sql(),
        now=now_sql(),
        which=_WHICH.format(ids=ids) if vendor == "postgresql" and count > 1 else f"IN ({ids})",
        free=_FREE.format(now=now_sql()),
        queue=("AND queue = %s" if has_queue else "") + (OWNED_SQL if is_owned else ""),
        columns=_columns(),
    )


@lru_cache(maxsize=128)
def _fence_text(vendor: str, count: int, has_step: bool, is_owned: bool) -> str:
    return _FENCE.strip().format(
        later=later_sql(),
        now=now_sql(),
        step=", step = %s" if has_step else "",
        rows=", ".join(["(%s, %s, %s, %s)"] * count),
        mine=_MINE.format(now=now_sql()) + (OWNED_SQL if is_owned else ""),
    )


@lru_cache(maxsize=128)
def _finish_text(vendor: str, count: int, is_owned: bool) -> str:
    return _FINISH.strip().format(
        rows=", ".join(["(%s, %s, %s, %s, %s)"] * count),
        outcome="held.column5::jsonb" if vendor == "postgresql" else "held.column5",
        now=now_sql(),
        mine=_MINE.format(now=now_sql()) + (OWNED_SQL if is_owned else ""),
    )
