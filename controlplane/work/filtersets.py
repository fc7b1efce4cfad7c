"""Filters of work and of heals: one class serves API and pages."""

import django_filters
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from controlplane.infra.list_filters import MomentFilter, YesNoFilter
from controlplane.infra.quick_search import QuickSearch
from controlplane.work.models import Heal, Work, WorkState
from controlplane.work.models.work import OPEN_STATES
from controlplane.work.work import compute_queue

OPEN = "open"
STATES = [(OPEN, "Open"), *WorkState.choices]


class WorkFilterSet(QuickSearch):
    """?q= (any attribute), ?state= (open: waiting or running), ?kind=, ?queue=, ?host=, ?overdue=, ..."""

    search_fields = ("kind", "queue", "step", "lease_owner")
    search_requests = ("request_id",)
    search_ids = ("pk", "subject")

    state = django_filters.ChoiceFilter(
        choices=STATES, method="by_state", label="A state, or open: waiting or running."
    )
    host = django_filters.CharFilter(method="by_host", label="The host whose agent does it.")
    overdue = YesNoFilter(method="by_overdue", label="Open, and past its deadline.")
    lapsed = YesNoFilter(method="by_lapsed", label="Running, but its lease expired.")
    retried = YesNoFilter(method="by_retried", label="Taken more than once.")

    class Meta:
        model = Work
        fields = ["kind", "queue", "subject", "request_id"]

    def by_state(self, rows: QuerySet[Work], _name: str, value: str) -> QuerySet[Work]:
        """One state, or both open ones."""
        return rows.filter(state__in=OPEN_STATES if value == OPEN else [value])

    def by_host(self, rows: QuerySet[Work], _name: str, value: str) -> QuerySet[Work]:
        """What the agent of this host does."""
        return rows.filter(queue=compute_queue(value))

    def by_overdue(self, rows: QuerySet[Work], _name: str, value: bool) -> QuerySet[Work]:
        """By the database's clock."""
        return rows.filter(overdue()) if value else rows.filter(~overdue())

    def by_lapsed(self, rows: QuerySet[Work], _name: str, value: bool) -> QuerySet[Work]:
        """Whether a running row has an owner that is still heard of. What does not run has not lapsed."""
        if value:
            return rows.filter(lapsed())
        return rows.filter(~Q(state=WorkState.RUNNING) | Q(lease_until__gte=Now()))

    def by_retried(self, rows: QuerySet[Work], _name: str, value: bool) -> QuerySet[Work]:
        """More than one attempt was begun."""
        return rows.filter(attempt__gt=1) if value else rows.filter(attempt__lte=1)


class HealFilterSet(QuickSearch):
    """?q= (any attribute), ?kind=, ?subject=, ?request_id=, ?created_after=, ?created_before="""

    search_fields = ("kind", "found", "done")
    search_ids = ("pk", "subject")
    search_requests = ("request_id",)

    created_after = MomentFilter(field_name="created_at", lookup_expr="gte")
    created_before = MomentFilter(field_name="created_at", lookup_expr="lt")

    class Meta:
        model = Heal
        fields = ["kind", "subject", "request_id"]


def overdue() -> Q:
    """Open, and past its deadline: the reconciler is about to end it."""
    return Q(state__in=OPEN_STATES, deadline_at__lte=Now())


def lapsed() -> Q:
    """Running by the row, though nobody renewed the lease: anybody may take it."""
    return Q(state=WorkState.RUNNING, lease_until__lt=Now())
