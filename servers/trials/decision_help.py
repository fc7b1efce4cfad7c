"""What would make the request of a stored decision fit now. Every change in the answer was run; nothing is written."""

import logging
import uuid
from dataclasses import replace
from typing import Any

from controlplane.identity.domain import Caller
from controlplane.identity.policy import require
from controlplane.infra.answer_budget import answer_budget
from controlplane.infra.request_id import current_request_id
from controlplane.work.conf import work_options
from scheduling.decisions.selectors.decisions import decision_content, decision_get
from scheduling.destinations.selectors.inputs import scheduling_inputs
from scheduling.domain.request.schedule_request import ScheduleRequest, request_from_dict
from scheduling.domain.snapshots import FlavorSnapshot
from scheduling.policies.selectors.policies import attempts_allowed
from scheduling.whatif.services.explain import schedule_explain
from scheduling.whatif.services.explain_report import answer_report
from scheduling.whatif.services.simulate import MAX_INSTANCES
from servers.catalog.selectors.flavor import flavor_snapshots, flavors_visible
from servers.instances.domain.bodies import SpecBody
from servers.instances.selectors.scheduling_facts import fleet_facts, schedule_request
from servers.models import RequestSpec
from servers.volumes.selectors.volume_needs import volume_needs_now

log = logging.getLogger(__name__)


def decision_help(*, caller: Caller, decision_id: uuid.UUID, host: str | None = None) -> dict[str, Any]:
    """The report of `answer_report` for the decision's request on the fleet as it is now, under the active policy.

    The instances are new ones, and the server group is the one of today; of a batch larger than a trial may be, as many
    as it may. A host may be asked about by admins only. Raises NotFound, also for another project's decision, and
    Invalid for a host that is not there.
    """
    require(caller, "schedule:explain")
    if host is not None:
        require(caller, "schedule:explain:host")
    decision = decision_get(caller=caller, decision_id=decision_id)
    stored = request_from_dict(decision_content(decision=decision).request)
    asked = _asked(stored)
    rows = flavors_visible(caller=caller).filter(disabled=False)
    with answer_budget.spend(
        f"explain:{caller.own_project_id}", seconds_a_minute=work_options().answer_seconds_a_minute
    ):
        answer = schedule_explain(
            request=_asked_again(stored, asked),
            fleet_facts=fleet_facts(asked, scheduling_inputs()),
            offers=[FlavorSnapshot(**found) for found in flavor_snapshots(rows)],
            host=host,
            every_rule=host is not None,
        )
    log.info("decision=%s explained for user=%s host=%s", decision_id, caller.username, host or "any")
    return answer_report(answer, redacted=not caller.is_admin)


def _asked(stored: ScheduleRequest) -> SpecBody:
    """What the facts about the fleet depend on: hints, group, extra specs."""
    return SpecBody(
        flavor=stored.flavor,
        image=stored.image,
        availability_zone=stored.availability_zone or "",
        hints=stored.hints,
        group_id=uuid.UUID(stored.group.uuid) if stored.group else None,
    )


def _asked_again(stored: ScheduleRequest, asked: SpecBody) -> ScheduleRequest:
    """The stored request for instances that exist nowhere, with the group's members and the pools' room of today."""
    uuids = [uuid.uuid4() for _ in stored.instance_uuids[:MAX_INSTANCES]]
    spec = RequestSpec(project_id=uuid.UUID(stored.project_id), user_id=uuid.UUID(stored.user_id), body=asked.to_dict())
    today = schedule_request(spec, uuids, current_request_id(), attempts=attempts_allowed())
    return replace(
        stored,
        request_id=today.request_id,
        instance_uuids=today.instance_uuids,
        min_count=None if stored.min_count is None else min(stored.min_count, len(uuids)),
        group=today.group if stored.group else None,
        volumes=volume_needs_now(stored.volumes),
    )
