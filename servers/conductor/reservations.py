"""Reservations that wait for hosts: their rows, and which of them are placed together."""

import uuid
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Max

from controlplane.notifications.outbox import events_wanted
from controlplane.work.jobs import TakenWork
from controlplane.work.models import Work
from controlplane.work.work import WorkLease
from scheduling.destinations.selectors.inputs import SchedulingInputs
from servers.instances.selectors.scheduling_facts import may_share_facts, names_no_instances
from servers.instances.services.notifications import UPDATE
from servers.models import BuildRequest, RequestSpec

MAX_INSTANCES = 4
"""Of a reservation that is placed together with others; a larger one is worth a turn of its own."""
GROUP_EVENTS = (UPDATE, "instance.create.start")
"""Events of a dispatch: each names its request, so where they are wanted each reservation is dispatched by itself."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """The build requests of one reservation that are still there, and the work that places them."""

    work: Work
    lease: WorkLease
    requests: list[BuildRequest]
    spec: RequestSpec

    @property
    def uuids(self) -> list[uuid.UUID]:
        """The instances, in their order."""
        return [request.instance_uuid for request in self.requests]

    @property
    def may_share(self) -> bool:
        """Whether it may be placed together with others: it depends on none of them, nor they on it."""
        # What was cut off before may be what cuts its worker off: it takes nobody along a second time.
        if self.lease.attempt > 1 or len(self.requests) > MAX_INSTANCES:
            return False
        try:
            return names_no_instances(self.spec.typed_body)
        except (KeyError, TypeError, ValueError):
            return False  # what cannot be read fails in an attempt of its own


def reservations_read(taken: Sequence[TakenWork]) -> list[Reservation]:
    """One for each piece of work that has anything left to build, in its order. Two queries."""
    subjects = [work.subject for work, _ in taken]
    requests: dict[uuid.UUID, list[BuildRequest]] = defaultdict(list)
    for request in BuildRequest.objects.filter(reservation_id__in=subjects).order_by("batch_index"):
        requests[request.reservation_id].append(request)
    # Instances of a reservation were asked for at once and have one body, so one spec of those that are left tells it.
    newest = RequestSpec.objects.filter(reservation_id__in=requests).order_by().values("reservation_id")
    specs = RequestSpec.objects.filter(pk__in=newest.annotate(spec=Max("pk")).values("spec"))
    by_reservation = {spec.reservation_id: spec for spec in specs}
    return [
        Reservation(work, lease, requests[work.subject], by_reservation[work.subject])
        for work, lease in taken
        if work.subject in by_reservation  # a request goes together with its spec
    ]


def reservations_grouped(reservations: Sequence[Reservation], inputs: SchedulingInputs) -> list[list[Reservation]]:
    """Those of a group are placed by the same facts about the fleet and dispatched in one transaction."""
    if len(reservations) < 2 or events_wanted(GROUP_EVENTS) or not may_share_facts(inputs.policies.policy()):
        return [[one] for one in reservations]
    together = [one for one in reservations if one.may_share]
    alone = [[one] for one in reservations if not one.may_share]
    return [together, *alone] if together else alone
