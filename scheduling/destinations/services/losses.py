"""What a lost claim says about the next round: which nodes lost, and which are not worth another try."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from placement.domain import AmountRule, Claim
from scheduling.domain.trace.trace import Trace
from scheduling.topology.domain.loss import NEIGHBOURS

# A host that lost this many claims of one batch at the same provider is left out, so that the rounds move on to others.
# One that lost them at several of its children has other candidates: those are tried before the next host is.
LOSSES_BEFORE_SKIP = 2

At = tuple[str, str]  # compute node and provider


def losses_by_node(
    shortages: Sequence[Mapping[str, Any]], claims: Sequence[Claim], trace: Trace
) -> list[dict[str, Any]]:
    """Each shortage with the compute node that lost by it: its provider may be a child's, or shared by several."""
    chosen = [each.selected for each in trace.selections]
    return [
        {**one, "compute_node_uuid": node, "host": host}
        for one in shortages
        for node, host in dict.fromkeys(
            (selected.compute_node_uuid, selected.host)
            for selected, claim in zip(chosen, claims, strict=True)
            if _is_of(one, selected.compute_node_uuid, claim)
        )
    ]


def _is_of(shortage: Mapping[str, Any], node: str, claim: Claim) -> bool:
    """Cells and devices are a node's own; an inventory may be one of a child, or of somebody who shares."""
    if "compute_node_uuid" in shortage:
        return bool(shortage["compute_node_uuid"] == node)
    return UUID(shortage["provider_uuid"]) in claim.resources


def losses_counted(lost: Sequence[Mapping[str, Any]]) -> Counter[At]:
    """One loss for each node and provider; of a node that can take no more of the group or breaks a rule about
    neighbours, as many as make it skipped.

    The next look at the fleet would not show who came there: the instance may have no row yet.
    """
    losses: Counter[At] = Counter()
    for one in lost:
        is_counted = one["rule"] in (AmountRule.COUNT_LIMIT, AmountRule.TOGETHER) and one["free"] == 0
        is_full = is_counted or one["rule"] == NEIGHBOURS
        node = one["compute_node_uuid"]
        where = (node, str(one.get("provider_uuid", node)))
        losses[where] = max(losses[where], LOSSES_BEFORE_SKIP if is_full else 1)
    return losses
