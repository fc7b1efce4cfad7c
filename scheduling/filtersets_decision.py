"""Filters of decisions: one class serves API and pages. None of them reads a trace."""

from typing import Any

import django_filters
from django.db.models import Q, QuerySet

from controlplane.infra.list_filters import MomentFilter
from controlplane.infra.quick_search import QuickSearch, is_part_of_an_id
from controlplane.kernel.reasons import RefusalReason
from scheduling.models import DecisionInstance, DecisionOutcome, DecisionReason, SchedulingDecision
from scheduling.models.host_name_search import decisions_refusing

REASONS = [(reason.value, reason.label) for reason in RefusalReason]
Rows = QuerySet[SchedulingDecision]


class DecisionFilterSet(QuickSearch):
    """?instance=, ?outcome=, ?reason= (several), ?stage= (a filter's name), ?policy_version=, times, and ids.

    `reason` and `stage` together: that stage refused hosts for that reason.
    """

    # A tenant must not learn by searching what the sentence for operators says.
    search_fields = ("verdict_redacted", "policy_version")
    search_requests = ("request_id",)
    search_ids = ("pk", "subject")

    instance = django_filters.UUIDFilter(method="by_instance", label="Uuid of an instance.")
    outcome = django_filters.MultipleChoiceFilter(choices=DecisionOutcome.choices)
    reason = django_filters.MultipleChoiceFilter(
        choices=REASONS, method="as_is", label="A reason for which hosts were refused."
    )
    stage = django_filters.CharFilter(method="as_is", label="A stage or filter that refused hosts.")
    created_after = MomentFilter(field_name="created_at", lookup_expr="gte")
    created_before = MomentFilter(field_name="created_at", lookup_expr="lt")

    class Meta:
        model = SchedulingDecision
        fields = ["request_id", "subject", "policy_version"]

    def filter_queryset(self, queryset: Rows) -> Rows:
        """Reason and stage are asked of the same rows."""
        rows: Rows = super().filter_queryset(queryset)
        wanted: dict[str, Any] = {}
        if reasons := self.form.cleaned_data.get("reason"):
            wanted["reason__in"] = reasons
        if stage := self.form.cleaned_data.get("stage"):
            wanted["stage"] = stage
        if not wanted:
            return rows
        return rows.filter(id__in=DecisionReason.objects.filter(**wanted).values("decision_id"))

    @classmethod
    def condition_of(cls, word: str) -> Q:
        """Also by the beginning of an instance's id."""
        found = super().condition_of(word)
        if not is_part_of_an_id(word):
            return found
        about = DecisionInstance.objects.filter(instance_uuid__istartswith=word)
        return found | Q(id__in=about.values("decision_id"))

    def by_instance(self, rows: Rows, _name: str, value: Any) -> Rows:
        """Decisions about one instance."""
        return rows.filter(id__in=DecisionInstance.objects.filter(instance_uuid=value).values("decision_id"))

    def as_is(self, rows: Rows, _name: str, _value: Any) -> Rows:
        """Left to `filter_queryset`."""
        return rows


class OperatorDecisionFilterSet(DecisionFilterSet):
    """The same, and what only operators may ask: ?host= (chosen), ?refused_host=, ?project_id="""

    search_fields = ("verdict", "policy_version")

    host = django_filters.CharFilter(method="by_host", label="A host that was chosen.")
    refused_host = django_filters.CharFilter(method="by_refused_host", label="A host or node that was refused.")

    class Meta(DecisionFilterSet.Meta):
        fields = [*DecisionFilterSet.Meta.fields, "project_id"]

    @classmethod
    def condition_of(cls, word: str) -> Q:
        """Also by a host that was chosen."""
        chosen = DecisionInstance.objects.filter(host__icontains=word)
        return super().condition_of(word) | Q(id__in=chosen.values("decision_id"))

    def by_host(self, rows: Rows, _name: str, value: str) -> Rows:
        """Decisions that gave an instance to this host."""
        return rows.filter(id__in=DecisionInstance.objects.filter(host=value).values("decision_id"))

    def by_refused_host(self, rows: Rows, _name: str, value: str) -> Rows:
        """Decisions that refused this host, in whatever round."""
        return decisions_refusing(rows, value)


def decision_filters(*, is_admin: bool) -> type[DecisionFilterSet]:
    """The filters that a caller may use: to a tenant the answer to `?host=` would tell where its instances run."""
    return OperatorDecisionFilterSet if is_admin else DecisionFilterSet
