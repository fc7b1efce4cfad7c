"""Sending wake-ups: in the row's transaction where both share a database, on commit where Redis carries them."""

import json
import logging
from collections.abc import Iterable
from functools import lru_cache

import redis
from django.conf import settings
from django.db import connection, transaction

from controlplane.infra.db import now_sql
from controlplane.kernel.kill_points import reach
from controlplane.work.wakeups.channels import postgres_channel_sql, redis_key
from controlplane.work.wakeups.redis_client import redis_client

log = logging.getLogger(__name__)
CHUNK = 200


def wakeup_send(*, queue: str, code: str, ref: str) -> None:
    """Wake the server of `queue` to look at `ref`. Sending it again before it is answered changes nothing."""
    wakeups_send([(queue, code, ref)])


def wakeups_send(wakeups: Iterable[tuple[str, str, str]]) -> None:
    """Ring many (queue, code, ref) at once, in one statement for CHUNK of them."""
    wanted = sorted(set(wakeups))
    if not wanted:
        return
    if settings.REDIS_URL:
        transaction.on_commit(lambda: _push_to_redis(wanted))
    else:
        _write_rows(wanted)


def _write_rows(wakeups: list[tuple[str, str, str]]) -> None:
    with connection.cursor() as cursor:
        for begin in range(0, len(wakeups), CHUNK):
            chunk = wakeups[begin : begin + CHUNK]
            cursor.execute(_text(connection.vendor, len(chunk)), [value for wakeup in chunk for value in wakeup])


@lru_cache(maxsize=64)
def _text(vendor: str, count: int) -> str:
    """One statement that rings so many, and tells whoever waits once it is committed."""
    rows = ", ".join([f"(%s, %s, %s, {now_sql()})"] * count)
    # An update, not "do nothing": it locks the row, so a taker cannot delete it before our work is visible.
    text = f"""INSERT INTO work_wakeup (queue, code, ref, woken_at) VALUES {rows}
        ON CONFLICT (queue, code, ref) DO UPDATE SET woken_at = excluded.woken_at"""  # noqa: S608
    return f"{text} RETURNING pg_notify({postgres_channel_sql('queue')}, '')" if vendor == "postgresql" else text


def _push_to_redis(wakeups: list[tuple[str, str, str]]) -> None:
    reach("controlplane.work.wakeups.send:before-push")
    try:
        pipe = redis_client().pipeline(transaction=False)
        for queue, code, ref in wakeups:
            pipe.rpush(redis_key(queue), json.dumps([code, ref]))
        pipe.execute()
    except redis.RedisError:
        # The rows are committed: the reconciler wakes them once Redis is back.
        log.warning("redis took no wake-up; %d left to the reconciler", len(wakeups), exc_info=True)
    reach("controlplane.work.wakeups.send:after-push")
