"""Ringing: in the transaction of the row where both share a database, on commit where Redis carries the bell."""

import json
import logging
from collections.abc import Iterable

import redis
from django.conf import settings
from django.db import connection, transaction
from django.db.models.functions import Now

from controlplane.infra.doorbells.channels import postgres_channel, redis_key
from controlplane.infra.doorbells.redis_client import redis_client
from controlplane.infra.models import Doorbell

log = logging.getLogger(__name__)


def doorbell_ring(*, queue: str, code: str, ref: str) -> None:
    """Wake the server of `queue` to look at `ref`. Ringing again before it is answered changes nothing."""
    doorbells_ring([(queue, code, ref)])


def doorbells_ring(rings: Iterable[tuple[str, str, str]]) -> None:
    """Ring many (queue, code, ref) at once, in a constant number of statements per queue."""
    wanted = sorted(set(rings))
    if not wanted:
        return
    if settings.REDIS_URL:
        transaction.on_commit(lambda: _push_to_redis(wanted))
    else:
        _write_rows(wanted)


def _write_rows(rings: list[tuple[str, str, str]]) -> None:
    rows = [Doorbell(queue=queue, code=code, ref=ref, rung_at=Now()) for queue, code, ref in rings]
    with transaction.atomic():
        # An update, not "do nothing": it locks the row, so a taker cannot delete it before our work is visible.
        Doorbell.objects.bulk_create(
            rows, update_conflicts=True, unique_fields=["queue", "code", "ref"], update_fields=["rung_at"]
        )
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                for queue in {queue for queue, _, _ in rings}:
                    cursor.execute("SELECT pg_notify(%s, '')", [postgres_channel(queue)])


def _push_to_redis(rings: list[tuple[str, str, str]]) -> None:
    try:
        pipe = redis_client().pipeline(transaction=False)
        for queue, code, ref in rings:
            pipe.rpush(redis_key(queue), json.dumps([code, ref]))
        pipe.execute()
    except redis.RedisError:
        # The rows are committed: the reconciler rings for them once Redis is back.
        log.warning("redis took no doorbell; %d left to the reconciler", len(rings), exc_info=True)
