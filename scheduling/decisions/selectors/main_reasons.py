"""Of decisions that found no host: the rule that refused most of the hosts that were there to be had."""

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from controlplane.kernel.reasons import RefusalReason
from scheduling.models import DecisionOutcome, DecisionReason

AWAY = frozenset({RefusalReason.DISABLED.value, RefusalReason.DOWN.value})


@dataclass(frozen=True, slots=True)
class MainReason:
    """How many of the hosts that were looked at it refused."""

    reason: RefusalReason
    hosts: int
    of: int


def main_reasons(decision_ids: Collection[UUID]) -> dict[UUID, MainReason]:
    """{decision: its main reason}. Hosts that are away count only where no other rule refused any. One query."""
    rows = DecisionReason.objects.filter(
        decision__in=decision_ids, decision__outcome=DecisionOutcome.NO_VALID_HOST
    ).order_by("hosts")
    found: dict[UUID, MainReason] = {}
    for decision, value, hosts, of in rows.values_list("decision_id", "reason", "hosts", "decision__host_count"):
        before = found.get(decision)
        if before is None or value not in AWAY or before.reason.value in AWAY:
            found[decision] = MainReason(RefusalReason(value), hosts, of)
    return found
