"""Does a plan that was made on an older view of the fleet still hold? What has room is not asked: the claim decides."""

from scheduling.domain.trace.trace import Outcome, Trace
from scheduling.models import ComputeNode
from scheduling.models.liveness import up_condition


def plan_holds(trace: Trace) -> bool:
    """Whether it found hosts, and all of them are up and enabled now. One query."""
    if trace.outcome is not Outcome.SELECTED:
        return False
    chosen = {each.selected.compute_node_uuid for each in trace.selections}
    alive = ComputeNode.objects.filter(up_condition("service__"), id__in=chosen, service__disabled=False)
    return alive.count() == len(chosen)
