"""Names of a queue's channel on PostgreSQL and of its list on Redis."""

import hashlib


def postgres_channel(queue: str) -> str:
    """A valid identifier of fixed length, whatever the host is called."""
    return "wakeup_" + hashlib.sha256(queue.encode()).hexdigest()[:24]


def redis_key(queue: str) -> str:
    """The list that holds the queue's rings."""
    return f"kilonova:wakeup:{queue}"


def postgres_channel_sql(queue: str) -> str:
    """The same name as SQL, of the column or expression `queue`."""
    return f"'doorbell_' || left(encode(sha256(convert_to({queue}, 'UTF8')), 'hex'), 24)"
