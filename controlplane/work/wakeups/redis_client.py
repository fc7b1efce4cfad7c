"""One Redis client per process, made on first use (a client must not cross a fork)."""

import os
from functools import lru_cache

import redis
from django.conf import settings


@lru_cache(maxsize=2)
def _client_of_process(url: str, pid: int) -> redis.Redis:
    return redis.Redis.from_url(url, socket_timeout=30, socket_connect_timeout=5, decode_responses=True)


def redis_client() -> redis.Redis:
    """The client of this process for settings.REDIS_URL."""
    return _client_of_process(settings.REDIS_URL, os.getpid())
