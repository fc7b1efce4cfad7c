"""Limits that the process tree and the checks of its settings share. Times are seconds."""

from django.conf import settings

HEARTBEAT_LIMIT_S = 10.0
"""How long the guard loop of the conductor may be silent before the whole tree ends."""


def answer_seconds_a_minute() -> float:
    """Seconds that one project may have a web process work out explanations and replays in a minute; 0: no bound."""
    return float(settings.KILONOVA["ANSWER_SECONDS_A_MINUTE"])


def ready_cache_s() -> float:
    """Seconds for which an answer of /readyz is given again."""
    return float(settings.KILONOVA["READY_CACHE_S"])
