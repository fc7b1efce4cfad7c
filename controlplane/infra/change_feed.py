"""The change feed: which rows changed since a reader's cursor. Every cache that follows a table reads it.

Each changed row carries a stamp. On PostgreSQL that is the number of the writing transaction (`TRANSACTION_STAMP`),
which costs nothing and makes no writer wait for another. Numbers are handed out when a transaction first writes, but
rows become visible when it commits, so a reader that remembered only the highest number would miss whoever commits
later. A `Cursor` therefore holds two things of the moment of the read: where the numbers ended, and which of the lower
ones were still open. Just these can have become visible since, so each change is reported once, even while some
transaction stays open for hours. On SQLite writers are serial and stamps grow, so whatever is above the highest stamp
seen is new, and the same statement serves with an empty list of open transactions.

A statement that uses this is written as

    WITH bounds AS ({bounds_sql(...)}) SELECT ... FROM bounds UNION ALL SELECT ... WHERE {changed_sql(...)}

as one statement: bounds and rows must come from one snapshot, or what commits between the two is lost.
"""

from dataclasses import dataclass

from django.db import connection

TRANSACTION_STAMP = "pg_current_xact_id()::text::bigint"
"""The stamp of a change on PostgreSQL, as an expression."""
MAX_STAMP = 2**63 - 1
_NO_STAMP = -1

_POSTGRES_BOUNDS = (
    "SELECT "
    # All transactions at or above this number are invisible to this snapshot, and none below begins from now on.
    "pg_snapshot_xmax(s)::text::bigint AS ended, "
    # The reader's own number, 0 while it has written nothing. It sees its own rows, whatever the snapshot says of it.
    "COALESCE(own, 0) AS own, "
    "s::text AS seen, "
    # This server has handed out no stamp at or above this: such rows came with a restored copy of another server. The
    # first full load of every reader has them, so they are no changes. The reader's own number may be above `ended`.
    "GREATEST(pg_snapshot_xmax(s)::text::bigint, 1 + own) AS above, "
    # These are below `ended` and still open: what they wrote may become visible at any later read; nothing else can.
    "array_to_string(ARRAY(SELECT pg_snapshot_xip(s)::text), ' ') AS unfinished "
    "FROM (SELECT pg_current_snapshot() AS s, pg_current_xact_id_if_assigned()::text::bigint AS own) AS now"
)
_SEEN = "SELECT pg_current_snapshot()::text, pg_current_xact_id_if_assigned() IS NULL"


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far a reader has read: it has every stamp below `ended` but those of transactions that were `unfinished`.

    `seen` is the server's snapshot at that time, as text; empty where the reader did not ask for it or there is none.
    """

    ended: int
    unfinished: tuple[int, ...] = ()
    seen: str = ""


NOTHING_NEW = Cursor(MAX_STAMP)
"""The cursor of a read that asks only for the next cursor: no stamp is new to it."""


def bounds_sql(*, sqlite_next: str) -> str:
    """Return a SELECT of one row: ended, own, seen, above, unfinished. `sqlite_next` is the stamp SQLite gives next."""
    if connection.vendor == "postgresql":
        return _POSTGRES_BOUNDS
    return f"SELECT {sqlite_next} AS ended, 0 AS own, '' AS seen, {MAX_STAMP} AS above, '' AS unfinished"


def changed_sql(stamp: str, since: Cursor) -> str:
    """Return the condition on column `stamp` for what became visible since; `since_values` makes its parameters."""
    unfinished = ", ".join(["%s"] * (len(since.unfinished) or 1))
    # "+ 0" keeps planners from scanning the index below `above`, where all rows are, while they have no statistics yet.
    return f"({stamp} >= %s OR {stamp} IN ({unfinished})) AND {stamp} + 0 < bounds.above"


def since_values(since: Cursor) -> list[int]:
    """Return the parameters of one `changed_sql`."""
    return [since.ended, *(since.unfinished or (_NO_STAMP,))]


def cursor_from(*, ended: int, own: int, unfinished: str, seen: str = "") -> Cursor:
    """Make the cursor for the next read from the row of `bounds_sql`.

    The reader's own transaction counts as unfinished: what it wrote is read again until it has ended one way or the
    other, so no reader keeps what was rolled back.
    """
    return Cursor(ended, tuple(map(int, unfinished.split())) + ((own,) if own else ()), seen)


def is_unchanged(cursor: Cursor) -> bool:
    """Return True only when certainly nothing became visible since; on False, read the feed. It reads no table.

    The server's snapshot as text says exactly which transactions are visible, so where it reads as before, nothing at
    all was committed since. A transaction that has written sees more than its snapshot says.
    """
    if not cursor.seen:
        return False
    with connection.cursor() as query:
        query.execute(_SEEN)
        seen, is_bystander = query.fetchone()
    return bool(is_bystander and seen == cursor.seen)


def is_uncommitted_possible() -> bool:
    """Whether what is read now may be the reader's own, not committed yet, and not known by its stamp (SQLite)."""
    return connection.vendor != "postgresql" and connection.in_atomic_block
