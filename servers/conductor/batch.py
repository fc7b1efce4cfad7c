"""The conductor's part for several reservations that wait at the same time: what they share is done once for all.

Each has a decision of its own, made after the claims of those before it, and each is fenced and ended by its own row.
Cut off anywhere, every row is taken again and done anew, as when each is done by itself (`conductor_build`), and
whatever cannot be done together is left to that.
"""

import logging
import uuid
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.db import transaction

from controlplane.infra.request_id import request_id_scope
from controlplane.kernel.errors import Fenced
from controlplane.kernel.log_context import log_scope
from controlplane.notifications.outbox import events_wanted
from controlplane.work.models import Work
from controlplane.work.work import Package, WorkLease, works_fence, works_finish
from scheduling.destinations.selectors.inputs import SchedulingInputs, scheduling_inputs
from scheduling.destinations.services.select import destinations_select
from scheduling.destinations.services.selections import Destinations
from scheduling.errors import NoValidHost
from scheduling.topology.services.claims import claims_free
from servers.conductor.build import SELECT, move_to_cell0, over_quota
from servers.conductor.dispatch import build_requests_dispatch
from servers.instances.selectors.scheduling_facts import (
    SharedFacts,
    may_share_facts,
    names_no_instances,
    schedule_request,
)
from servers.instances.services.notifications import UPDATE
from servers.models import BuildRequest, RequestSpec

log = logging.getLogger(__name__)
MAX_INSTANCES = 4
"""Of a reservation that is done together with others; a larger one is worth a turn of its own."""
BATCH_EVENTS = (UPDATE, "instance.create.start")
"""Events of a dispatch: each names its request, so where they are wanted each dispatch is by itself."""

TakenWork = tuple[Work, WorkLease]


@dataclass(slots=True)
class _Job:
    """One reservation. `found` once it has hosts."""

    work: Work
    lease: WorkLease
    requests: list[BuildRequest]
    spec: RequestSpec
    found: Destinations | None = None

    @property
    def uuids(self) -> list[uuid.UUID]:
        """The instances, in their order."""
        return [request.instance_uuid for request in self.requests]


def schedule_and_build_many(taken: Sequence[TakenWork]) -> list[TakenWork]:
    """Kind `schedule_and_build`, for several. Those that must be done by themselves are given back, untouched."""
    inputs = scheduling_inputs()
    jobs = [] if events_wanted(BATCH_EVENTS) or not may_share_facts(inputs.policies.policy()) else _jobs(taken)
    if len(jobs) < 2:
        return list(taken)
    # Those that are left to be done by themselves wait as long as the others, so their leases are renewed as well.
    package = Package(lease for _, lease in taken)
    held = works_fence(leases=[job.lease for job in jobs], step=SELECT)
    ours = [job for job in jobs if job.work.pk in held]
    failed, not_begun = _select(ours, inputs, package)
    package.renew()
    undone = failed + _dispatch([job for job in ours if job.found is not None])
    _claims_free(undone)
    others = {job.work.pk for job in jobs}.difference(job.work.pk for job in [*undone, *not_begun])
    return [pair for pair in taken if pair[0].pk not in others]


def _claims_free(jobs: Sequence[_Job]) -> None:
    """Each begins anew, and holds nothing then. Whose lease is over may hold the claims of the next owner by now."""
    if jobs:
        with transaction.atomic():
            held = works_fence(leases=[job.lease for job in jobs])
            claims_free([instance_id for job in jobs if job.work.pk in held for instance_id in job.uuids])


def _jobs(taken: Sequence[TakenWork]) -> list[_Job]:
    """Those that may be done together. Two queries."""
    reservations = [work.subject for work, _ in taken]
    requests: dict[uuid.UUID, list[BuildRequest]] = defaultdict(list)
    for request in BuildRequest.objects.filter(reservation_id__in=reservations).order_by("batch_index"):
        requests[request.reservation_id].append(request)
    few = [one for one, rows in requests.items() if len(rows) <= MAX_INSTANCES]
    specs = {spec.reservation_id: spec for spec in RequestSpec.objects.filter(reservation_id__in=few)}
    return [
        _Job(work, lease, requests[work.subject], specs[work.subject])
        for work, lease in taken
        # What was cut off before may hold claims, which go back first.
        if lease.attempt == 1 and work.subject in specs and names_no_instances(specs[work.subject].body)
    ]


def _select(jobs: Sequence[_Job], inputs: SchedulingInputs, package: Package) -> tuple[list[_Job], list[_Job]]:
    """Hosts for each, one after the other; who has none is buried. Those for which it failed otherwise, and those that
    were not begun, since the package is over: what is chosen has to be dispatched before its lease ends.
    """
    shared = SharedFacts()
    failed: list[_Job] = []
    for at, job in enumerate(jobs):
        if package.is_over:
            return failed, list(jobs[at:])
        package.renew()
        with request_id_scope(job.work.request_id), log_scope(work_id=job.work.pk, subject=job.work.subject):
            try:
                job.found = _selected(job, shared, inputs)
                shared.placed(one.selected.host for one in job.found.instances)
            except NoValidHost as error:
                _in_cell0(job, error)
            except Exception:
                log.exception("%s could not be scheduled with others; it is tried by itself", job.work)
                failed.append(job)
    return failed, []


def _selected(job: _Job, shared: SharedFacts, inputs: SchedulingInputs) -> Destinations:
    return destinations_select(
        request=schedule_request(job.spec, job.uuids, job.work.request_id, attempts=inputs.policies.attempts_allowed()),
        inputs=replace(inputs, facts=shared.facts(), is_retry=False),
        subject=job.work.subject,
    )


def _in_cell0(job: _Job, error: NoValidHost) -> None:
    try:
        move_to_cell0(job.lease, job.requests, error, decision_id=error.decision_id)
    except Fenced as fenced:
        log.warning("stopped: %s", fenced)


def _dispatch(jobs: Sequence[_Job]) -> list[_Job]:
    """Those that have hosts for all their instances, in one transaction; the others are left, all where it failed."""
    over = {project for project in {job.spec.project_id for job in jobs} if over_quota(project)}
    whole = [job for job in jobs if _is_placed(job) and job.spec.project_id not in over]
    apart = [job for job in jobs if job not in whole]
    if not whole:
        return apart
    try:
        with transaction.atomic():
            ended = works_finish(outcomes={job.lease: _outcome(job) for job in whole})
            _dispatch_rows([job for job in whole if job.work.pk in ended])
    except Exception:
        log.exception("%d reservations could not be dispatched together; each is done by itself", len(whole))
        return list(jobs)
    return apart


def _is_placed(job: _Job) -> bool:
    return job.found is not None and len(job.found.instances) == len(job.requests)


def _outcome(job: _Job) -> dict[str, object]:
    decision = "" if job.found is None else str(job.found.decision_id)
    return {"decision": decision, "placed": len(job.requests)}


def _dispatch_rows(jobs: Sequence[_Job]) -> None:
    found = [(job.found, one) for job in jobs if job.found is not None for one in job.found.instances]
    build_requests_dispatch(
        [request for job in jobs for request in job.requests],
        {one.instance_uuid: [one.selected, *one.alternates] for _, one in found},
        {one.instance_uuid: destinations.decision_id for destinations, one in found},
    )
