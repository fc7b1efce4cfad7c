"""A scheduler whose plan is always late: while it thinks, somebody else takes what `TAKES` says, look by look."""

import uuid
from typing import Any

from placement.domain import Claim
from placement.services import allocations_claim
from scheduling.domain.trace.trace import Trace
from scheduling.schedulers import FilterScheduler
from tests.services.scheduling.fleet.fleet_world import PROJECT, USER

TAKES: list[tuple[uuid.UUID, dict[str, int]]] = []


class Raced(FilterScheduler):
    """The filter scheduler, raced."""

    def schedule(self, *args: Any, **more: Any) -> Trace:
        trace = super().schedule(*args, **more)
        if TAKES:
            provider, amounts = TAKES.pop(0)
            allocations_claim([Claim(uuid.uuid4(), PROJECT, USER, {provider: amounts})])
        return trace
