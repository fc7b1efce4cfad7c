"""Keeping what guests have used, as their hosts report it: one statement for all guests of a message."""

import itertools
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from django.db import connection

from computeagent.protocol.guests import GuestCounters
from controlplane.infra.db import db_now
from controlplane.infra.retention import BATCH
from controlplane.work.host_ownership import OWNED_SQL, Ownership
from servers.conf import server_options
from servers.instances.domain.guest_samples import COARSE, FINE, Resolution, sample_pack
from servers.models import GuestCounterChunk, Instance

HOUR_S = 3600
MAX_GUESTS = 2000
"""Guests of one message that count; agents send larger hosts in several."""

# In it all is decided: the host's own living instances only, its own agent only, and nothing sooner than the step
# allows. The anti-join keeps rows that get nothing from being locked; the last condition is for two that come at once.
_STORE = """
INSERT INTO servers_guestcounterchunk (instance_uuid, step_s, starts_s, last_s, samples)
  WITH reported (instance_uuid, step_s, min_gap_s, starts_s, samples) AS (VALUES {values})
SELECT reported.instance_uuid, reported.step_s, reported.starts_s, %s, reported.samples
  FROM reported
  JOIN servers_instance AS instance ON instance.id = reported.instance_uuid
 WHERE instance.host = %s AND instance.deleted_at IS NULL {owned}
   AND NOT EXISTS (
         SELECT 1 FROM servers_guestcounterchunk AS present
          WHERE present.instance_uuid = reported.instance_uuid AND present.step_s = reported.step_s
            AND present.starts_s = reported.starts_s AND present.last_s > %s - reported.min_gap_s)
    ON CONFLICT (instance_uuid, step_s, starts_s) DO UPDATE
       SET samples = {appended}, last_s = excluded.last_s
     WHERE servers_guestcounterchunk.last_s < excluded.last_s
"""
_APPENDED = {
    "postgresql": "servers_guestcounterchunk.samples || excluded.samples",
    # SQLite joins bytes as if they were text, and calls them so.
    "sqlite": "CAST(servers_guestcounterchunk.samples || excluded.samples AS BLOB)",
}


def guest_counters_store(
    *,
    host: str,
    counters: Mapping[uuid.UUID, GuestCounters],
    ownership: Ownership | None = None,
    at_s: int | None = None,
) -> int:
    """Keep one sample of each guest that is an instance of this host; others are dropped. How many rows got one.

    `at_s` is when, in Unix seconds; now by the database's clock unless given. A message that comes twice has one
    effect: the second is sooner than a sample may follow another.
    """
    if not counters:
        return 0
    if at_s is None:
        at_s = int(db_now().timestamp())
    reported = list(counters.items())[:MAX_GUESTS]
    rows = [row for pk, counted in reported for row in _rows(pk, counted, at_s)]
    is_postgres = connection.vendor == "postgresql"
    one = "(%s::uuid, %s::int, %s::int, %s::bigint, %s::bytea)" if is_postgres else "(%s, %s, %s, %s, %s)"
    statement = _STORE.format(
        values=", ".join([one] * len(rows)),
        owned="" if ownership is None else OWNED_SQL,
        appended=_APPENDED[connection.vendor],
    )
    owner = () if ownership is None else (ownership.name, ownership.owner)
    with connection.cursor() as cursor:
        cursor.execute(statement, [*itertools.chain.from_iterable(rows), at_s, host, *owner, at_s])
        return int(cursor.rowcount)


def guest_counters_prune(*, now_s: int | None = None) -> int:
    """Remove samples by the minute that are over an hour old, and all that are older than GUEST_COUNTERS_DAYS."""
    if now_s is None:
        now_s = int(db_now().timestamp())
    days_s = int(server_options().guest_counters_days * 86400)
    return sum(
        _older_delete(resolution, now_s - age_s - resolution.chunk_s)
        for resolution, age_s in ((FINE, min(HOUR_S, days_s)), (COARSE, days_s))
    )


def _rows(pk: uuid.UUID, counters: GuestCounters, at_s: int) -> Iterator[tuple[Any, ...]]:
    key = Instance._meta.pk.get_db_prep_value(pk, connection)
    for resolution in (FINE, COARSE):
        start = resolution.chunk_start(at_s)
        packed = sample_pack(counters, at_s=at_s, chunk_start_s=start)
        yield key, resolution.step_s, resolution.min_gap_s, start, packed


def _older_delete(resolution: Resolution, before_s: int) -> int:
    rows = GuestCounterChunk.objects.filter(step_s=resolution.step_s, starts_s__lt=before_s).order_by()
    removed = 0
    while keys := list(rows.values_list("pk", flat=True)[:BATCH]):
        removed += GuestCounterChunk.objects.filter(pk__in=keys).delete()[0]
    return removed
