"""Names of a queue's channel on PostgreSQL and of its list on Redis."""

import hashlib


def postgres_channel(queue: str) -> str:
    """A valid identifier of fixed length, whatever the host is called."""
    return "doorbell_" + hashlib.sha256(queue.encode()).hexdigest()[:24]


def redis_key(queue: str) -> str:
    """The list that holds the queue's rings."""
    return f"kilonova:doorbell:{queue}"
