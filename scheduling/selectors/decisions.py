"""Reading decisions: who may see which, and what stands in them."""

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from controlplane.identity.domain import Caller
from controlplane.kernel.errors import NotFound
from scheduling.domain.explanation import Explanation, why_not
from scheduling.domain.trace import Trace
from scheduling.domain.trace_codec import trace_from_dict
from scheduling.models import SchedulingDecision

BLOB_FORMAT = 1


@dataclass(frozen=True, slots=True)
class DecisionContent:
    """What a decision keeps besides its columns. `trace` is None when the scheduler failed before it had one."""

    request: Mapping[str, Any]
    policy: Mapping[str, Any]
    lost_claims: tuple[Mapping[str, Any], ...]
    trace: Trace | None


def decision_list(*, caller: Caller) -> QuerySet[SchedulingDecision]:
    """Those of the caller's project; all of them for an admin. Traces are not loaded."""
    rows = SchedulingDecision.objects.defer("trace").prefetch_related("instances")
    return rows if caller.is_admin else rows.filter(project_id=caller.project_id)


def decision_get(*, caller: Caller, decision_id: UUID) -> SchedulingDecision:
    """One decision, trace included. Raises NotFound, also for one of another project."""
    rows = SchedulingDecision.objects.prefetch_related("instances").filter(id=decision_id)
    if not caller.is_admin:
        rows = rows.filter(project_id=caller.project_id)
    decision = rows.first()
    if decision is None:
        raise NotFound(f"There is no decision {decision_id}.")
    return decision


def decisions_of_instance(*, instance_uuid: UUID) -> QuerySet[SchedulingDecision]:
    """Every decision about one instance, the newest first. For callers that may see the instance."""
    return SchedulingDecision.objects.defer("trace").filter(instances__instance_uuid=instance_uuid)


def decision_content(*, decision: SchedulingDecision) -> DecisionContent:
    """The unpacked content. Raises ValueError for a format this version does not know."""
    data = json.loads(zlib.decompress(bytes(decision.trace)))
    if data["format"] != BLOB_FORMAT:
        raise ValueError(f"decision {decision.pk} has the unknown format {data['format']!r}")
    return DecisionContent(
        request=data["request"],
        policy=data["policy"],
        lost_claims=tuple(data["lost_claims"]),
        trace=None if data["trace"] is None else trace_from_dict(data["trace"]),
    )


def decision_trace(*, decision: SchedulingDecision) -> Trace | None:
    """The trace alone."""
    return decision_content(decision=decision).trace


def decision_why_not(*, decision: SchedulingDecision, host: str) -> Explanation:
    """Why `host` (or node) was not chosen, or that it was. Names hosts: for operators only.

    Raises NotFound when the scheduler failed before it looked at any host.
    """
    trace = decision_trace(decision=decision)
    if trace is None:
        raise NotFound(f"This decision looked at no hosts: {decision.verdict}")
    return why_not(trace, host)
