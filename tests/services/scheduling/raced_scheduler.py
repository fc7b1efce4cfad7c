"""A scheduler whose plan is always late: while it thinks, somebody else takes what `TAKES` says, look by look."""

import uuid

from placement.domain import Claim
from placement.services import allocations_claim
from scheduling.domain.trace.trace import Trace
from scheduling.schedulers import FilterScheduler, ScheduleCall
from tests.services.scheduling.fleet.fleet_world import PROJECT, USER

TAKES: list[tuple[uuid.UUID, dict[str, int]]] = []


class Raced(FilterScheduler):
    """The filter scheduler, raced."""

    def schedule(self, call: ScheduleCall) -> Trace:
        trace = super().schedule(call)
        if TAKES:
            provider, amounts = TAKES.pop(0)
            allocations_claim([Claim(uuid.uuid4(), PROJECT, USER, {provider: amounts})])
        return trace
