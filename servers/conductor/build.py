"""The conductor's part in a build: choose hosts for one reservation or for several that wait at the same time, and hand
over to the agents.
"""

import logging
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace

from django.db import transaction

from controlplane.kernel.errors import KilonovaError, QuotaExceeded
from controlplane.kernel.texts import phrase as _
from controlplane.work.jobs import TakenWork, attempt_of
from controlplane.work.models import Work
from controlplane.work.work import Package, work_finish, work_history, works_fence, works_finish
from scheduling.destinations.selectors.inputs import SchedulingInputs, scheduling_inputs
from scheduling.destinations.services.select import destinations_select
from scheduling.destinations.services.selections import Destinations
from scheduling.errors import NoValidHost
from scheduling.fleet.domain.cells import CELL0_ID
from scheduling.fleet.facts import FleetFacts
from scheduling.topology.services.claims import claims_free
from servers.catalog.services.quota import quota_recheck
from servers.conductor.dispatch import build_requests_dispatch, build_requests_move_to_cell0
from servers.conductor.reservations import Reservation, reservations_grouped, reservations_read
from servers.conductor.volume_allocation import volume_quota_hold
from servers.instances.selectors.scheduling_facts import facts_with_placed, fleet_facts, schedule_request
from servers.instances.services.journal import BUILD_ACTIONS, action_close, fault_record, step_failed
from servers.instances.services.notifications import emit_build_failures
from servers.models import BuildRequest

log = logging.getLogger(__name__)
SELECT = "select_destinations"
Placed = tuple[Reservation, Destinations]


def schedule_and_build(taken: Sequence[TakenWork]) -> list[TakenWork]:
    """Kind `schedule_and_build`, subjects reservations: every build request of them that is still there.

    Each has a decision of its own, made after the claims of those before it, and is fenced and ended by its own row.
    Cut off anywhere and run again, it does the same: claims of the earlier run are given back first, and what was
    dispatched has no build request any more. Returns those that were not begun, since the package is over: what is
    chosen has to be dispatched before its lease ends.
    """
    package = Package(lease for _, lease in taken)
    waiting = reservations_read(taken)
    subjects = {one.work.subject for one in waiting}
    for work, lease in taken:
        if work.subject not in subjects:
            with attempt_of(work, lease):
                work_finish(lease=lease, outcome={"note": "nothing left to build"})
    if not waiting:
        return []
    not_begun: list[Reservation] = []
    inputs = scheduling_inputs()
    for number, group in enumerate(reservations_grouped(waiting, inputs)):
        if number:  # what became of the group before is in nothing that was polled before
            inputs = scheduling_inputs()
        not_begun += _place(group, inputs, package)
    return [(one.work, one.lease) for one in not_begun]


def _place(group: Sequence[Reservation], inputs: SchedulingInputs, package: Package) -> Sequence[Reservation]:
    """Hosts for each, one after the other, then all to their hosts. Returns those that were not begun in time."""
    if package.is_over:
        return group
    held = works_fence(leases=[one.lease for one in group], step=SELECT)
    ours = [one for one in group if one.work.pk in held]
    placed: list[Placed] = []
    facts: FleetFacts | None = None
    begun = 0
    while begun < len(ours) and not package.is_over:
        package.renew()
        one = ours[begun]
        begun += 1
        with attempt_of(one.work, one.lease):
            facts = facts or fleet_facts(one.spec.typed_body, inputs)
            found = _select(one, replace(inputs, facts=facts, is_retry=one.lease.attempt > 1))
            if found is not None:
                placed.append((one, found))
                # The rows of these are not there yet when the next of the group is placed.
                facts = facts_with_placed(facts, [each.selected.host for each in found.instances])
    package.renew()
    _dispatch(placed)
    return ours[begun:]


def _select(one: Reservation, inputs: SchedulingInputs) -> Destinations | None:
    """Its hosts; None where there are none, and its instances are in cell0."""
    attempts = inputs.policies.attempts_allowed()
    request = schedule_request(one.spec, one.uuids, one.work.request_id, attempts=attempts)
    try:
        return destinations_select(request=request, inputs=inputs, subject=one.work.subject)
    except NoValidHost as error:
        with transaction.atomic():
            work_finish(lease=one.lease, outcome={"error": error.message, "decision": str(error.decision_id)})
            _to_cell0(one.requests, error.message, error.decision_id)
        return None


def _dispatch(placed: Sequence[Placed]) -> None:
    """To their hosts in one transaction; where that fails, each in one of its own: what is wrong with one touches no
    other.
    """
    if len(placed) > 1:
        try:
            with transaction.atomic():
                _to_hosts(placed)
        except Exception:
            log.exception("%d reservations could not be dispatched together; each is by itself", len(placed))
        else:
            return
    for one, found in placed:
        with attempt_of(one.work, one.lease), transaction.atomic():
            _to_hosts([(one, found)])


def _to_hosts(placed: Sequence[Placed]) -> None:
    """The rows of those whose lease still holds. Of a batch that was to be placed as far as it fits, the rest ends as
    if it had been refused; where the quota was lowered meanwhile, all of it.
    """
    volume_quota_hold(one.spec for one, _rest in placed)
    over = {project: _over_quota(project) for project in {one.spec.project_id for one, _rest in placed}}
    # Ending the work proves the lease, so no fence is needed before it.
    ended = works_finish(outcomes={one.lease: _outcome(found, over[one.spec.project_id]) for one, found in placed})
    ours = [(one, found) for one, found in placed if one.work.pk in ended]
    fits = [(one, found) for one, found in ours if not over[one.spec.project_id]]
    chosen = {
        each.instance_uuid: [each.selected, *each.alternates] for _rest, found in fits for each in found.instances
    }
    refused: dict[uuid.UUID, KilonovaError] = {}
    if fits:
        refused = build_requests_dispatch(
            [request for one, _rest in fits for request in one.requests if request.instance_uuid in chosen],
            chosen,
            {each.instance_uuid: found.decision_id for _rest, found in fits for each in found.instances},
            {one.spec.reservation_id: one.spec.typed_body for one, _rest in fits},
        )
    for one, found in ours:
        _without_network([request for request in one.requests if request.instance_uuid in refused], refused, found)
        left = [request for request in one.requests if request.instance_uuid not in chosen]
        if text := over[one.spec.project_id]:
            claims_free(one.uuids)
            _to_cell0(left, text, found.decision_id, exception=QuotaExceeded.__name__)
        elif left:
            count = len(one.requests)
            text = _(
                "No host was left for this instance: {count} of the {count_2} of its batch were placed.",
                count=count - len(left),
                count_2=count,
            )
            _to_cell0(left, text, found.decision_id)


def _without_network(
    requests: Sequence[BuildRequest], reasons: Mapping[uuid.UUID, KilonovaError], found: Destinations
) -> None:
    """There is a host for these, and no address or port: as in Nova, no other host is tried."""
    for request in requests:
        error = reasons[request.instance_uuid]
        claims_free([request.instance_uuid])
        _to_cell0([request], error.message, found.decision_id, exception=type(error).__name__)


def _outcome(found: Destinations, over: str) -> dict[str, object]:
    ended: dict[str, object] = {"error": over} if over else {"placed": len(found.instances)}
    return {**ended, "decision": str(found.decision_id)}


def _over_quota(project_id: uuid.UUID) -> str:
    """Why instances of this project may not be built after all, though they were taken; empty when they may."""
    try:
        quota_recheck(project_id=project_id)
    except QuotaExceeded as error:
        return error.message
    return ""


def _to_cell0(
    requests: Sequence[BuildRequest],
    message: str,
    decision_id: uuid.UUID | None,
    exception: str = NoValidHost.__name__,
    details: str = "",
) -> None:
    """There is no host for these: each instance to cell0, in ERROR, with the message as its fault. `details` are for
    operators.
    """
    instances = build_requests_move_to_cell0(requests, cell0_id=CELL0_ID, decision_id=decision_id, message=message)
    for instance in instances:
        fault_record(instance_id=instance.pk, message=message, step=SELECT, details=details)
        step_failed(instance_id=instance.pk, name=SELECT, error=message)
        action_close(instance_id=instance.pk, actions=BUILD_ACTIONS, result="error", message=message)
    emit_build_failures([one.pk for one in instances], exception=exception, message=message)


def schedule_and_build_overdue(work: Work, reason: str) -> None:
    """The batch was not scheduled in time: its claims go back, its instances go to cell0."""
    requests = list(BuildRequest.objects.filter(reservation_id=work.subject).order_by("batch_index"))
    claims_free([request.instance_uuid for request in requests])
    _to_cell0(requests, _("Scheduling did not finish: {reason}.", reason=reason), None, details=work_history(work))
