"""Names of a queue's channel on PostgreSQL and of its list on Redis."""

import hashlib
from functools import lru_cache

_PREFIX = "wakeup_"
_DIGITS = 24


@lru_cache(maxsize=20_000)
def postgres_channel(queue: str) -> str:
    """A valid identifier of fixed length, whatever the host is called. Kept: a hub asks for all of its queues often."""
    return _PREFIX + hashlib.sha256(queue.encode()).hexdigest()[:_DIGITS]


def postgres_channel_sql(queue: str) -> str:
    """The same name as SQL, of the column or expression `queue`."""
    return f"'{_PREFIX}' || left(encode(sha256(convert_to({queue}, 'UTF8')), 'hex'), {_DIGITS})"


def redis_key(queue: str) -> str:
    """The list that holds the queue's wake-ups."""
    return f"kilonova:wakeup:{queue}"
