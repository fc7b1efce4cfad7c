"""A wake-up as it comes from whoever could write one."""

import contextlib
import json
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReceivedWakeup:
    """One wake-up that came."""

    code: str
    ref: str


def parse(raw: str) -> ReceivedWakeup | None:
    """Whoever can write to Redis can write nonsense; it is dropped, never executed."""
    with contextlib.suppress(ValueError, TypeError):
        code, ref = json.loads(raw)
        if isinstance(code, str) and isinstance(ref, str):
            return ReceivedWakeup(code[:40], ref[:64])
    return None
