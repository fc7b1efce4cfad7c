"""What can be done about an instance that found no host: each step was tried, and most of them are one press away.

Nothing is written here. Whether it fits now is found out by a run of the scheduler on today's fleet, so that nobody is
told to schedule again what would fail again.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from controlplane.identity.domain import Caller
from controlplane.identity.policy import require
from controlplane.infra.answer_budget import answer_budget
from controlplane.infra.request_id import current_request_id
from controlplane.kernel.errors import Conflict
from controlplane.kernel.texts import phrase as _
from controlplane.work.conf import work_options
from scheduling.decisions.selectors.decisions import decision_time
from scheduling.destinations.selectors.inputs import scheduling_inputs
from scheduling.domain.request.schedule_request import ScheduleRequest
from scheduling.domain.snapshots import FlavorSnapshot
from scheduling.policies.selectors.policies import attempts_allowed
from scheduling.whatif.services.explain import schedule_explain
from scheduling.whatif.services.explain_report import answer_report
from servers.catalog.selectors.flavor import flavor_snapshots, flavors_visible
from servers.instances.domain.request_changes import RequestChanges
from servers.instances.domain.schedule_again import schedule_again_refusal
from servers.instances.selectors.instances import instance_get
from servers.instances.selectors.scheduling_facts import fleet_facts, schedule_request
from servers.instances.services.nic_needs import nics_asked_again, with_nic_needs
from servers.models import RequestSpec

SELECTED = "selected"
# Single changes that a request can be asked for with, as the steps of a change call them.
SAYABLE = frozenset({"flavor", "zone", "hint"})


class StepKind(StrEnum):
    """What a step is done by. `ADVICE`: by hand, for no service does just that."""

    SCHEDULE_AGAIN = "schedule_again"
    ENABLE_HOST = "enable_host"
    ADVICE = "advice"


@dataclass(frozen=True, slots=True)
class NextStep:
    """One way out. `changes` is for SCHEDULE_AGAIN, `host` for ENABLE_HOST; `verdict` is how the run with it ended.

    `trial` is for ADVICE: what is other than in the request, as simulate takes it. Empty where it cannot be said.
    """

    kind: StepKind
    sentence: str
    changes: RequestChanges | None = None
    host: str = ""
    verdict: str = ""
    trial: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NextSteps:
    """`fits`: the same request would find a host now. `decided_at`: when it last was looked for one."""

    fits: bool
    verdict: str
    decided_at: datetime | None
    generation: int
    steps: tuple[NextStep, ...]
    policy_version: str
    host_count: int
    duration_us: int

    @property
    def doable(self) -> list[NextStep]:
        """Those that a press does."""
        return [one for one in self.steps if one.kind is not StepKind.ADVICE]

    @property
    def advice(self) -> list[NextStep]:
        """Those that somebody does by hand."""
        return [one for one in self.steps if one.kind is StepKind.ADVICE]


def instance_next_steps(*, caller: Caller, instance_id: uuid.UUID) -> NextSteps:
    """For an instance that may be scheduled again. One run of the scheduler, and those that show what would help; they
    count in the project's budget of answers. Members are told of changes of their own request, and of no host.

    Raises NotFound, Conflict for one that may not be scheduled again, Throttled.
    """
    require(caller, "schedule:explain")
    instance = instance_get(caller=caller, instance_id=instance_id)
    if refusal := schedule_again_refusal(instance, caller):
        raise Conflict(refusal)
    spec = RequestSpec.objects.filter(instance_uuid=instance.pk).first()
    if spec is None:
        raise Conflict(_("What was asked for is not known any more; delete the instance and create it anew."))
    spec.body = with_nic_needs(spec.typed_body, nics_asked_again(spec.typed_body.nics or ())).to_dict()
    request = schedule_request(spec, [instance.pk], current_request_id(), attempts=attempts_allowed())
    offers = flavors_visible(caller=caller).filter(disabled=False)
    with answer_budget.spend(
        f"explain:{caller.own_project_id}", seconds_a_minute=work_options().answer_seconds_a_minute
    ):
        answer = schedule_explain(
            request=replace(request, min_count=None),
            fleet_facts=fleet_facts(spec.typed_body, scheduling_inputs()),
            offers=[FlavorSnapshot(**found) for found in flavor_snapshots(offers)],
        )
    report = answer_report(answer, redacted=not caller.is_admin)
    return NextSteps(
        fits=report["outcome"] == SELECTED,
        verdict=report["verdict"],
        decided_at=decision_time(decision_id=instance.decision_id) if instance.decision_id else None,
        generation=instance.generation,
        steps=tuple(_step(one, request) for one in report["changes"]),
        policy_version=report["policy_version"],
        host_count=report["host_count"],
        duration_us=report["duration_us"],
    )


def _step(change: Mapping[str, Any], request: ScheduleRequest) -> NextStep:
    sentence, verdict = change["sentence"], change["verdict"]
    body: Mapping[str, Any] = change["simulate"] or {}
    if not {one["what"] for one in change["steps"]} - SAYABLE:
        changes = RequestChanges.of_trial(body, tuple(request.hints), has_group=request.group is not None)
        if changes is not None:
            return NextStep(StepKind.SCHEDULE_AGAIN, sentence, changes=changes, verdict=verdict)
    if host := _host_to_enable(body):
        return NextStep(StepKind.ENABLE_HOST, sentence, host=host, verdict=verdict)
    return NextStep(StepKind.ADVICE, sentence, verdict=verdict, trial=body)


def _host_to_enable(body: Mapping[str, Any]) -> str:
    """The host, where enabling it is all that has to be done."""
    edits = body.get("edits", {})
    if body.keys() != {"edits"} or edits.keys() != {"hosts_enabled"} or len(edits["hosts_enabled"]) != 1:
        return ""
    return str(edits["hosts_enabled"][0])
