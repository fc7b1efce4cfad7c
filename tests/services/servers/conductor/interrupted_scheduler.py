"""A scheduler that is interrupted: after each plan, before the claim that follows it, the next of `ACTS` happens."""

from collections.abc import Callable
from typing import Any

from scheduling.domain.trace.trace import Trace
from scheduling.schedulers import FilterScheduler

ACTS: list[Callable[[], object]] = []
NAME = f"{__name__}.Interrupted"


class Interrupted(FilterScheduler):
    """The filter scheduler, interrupted."""

    def schedule(self, *args: Any, **more: Any) -> Trace:
        trace = super().schedule(*args, **more)
        if ACTS:
            ACTS.pop(0)()
        return trace
