"""Decisions with their funnel."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from controlplane.infra.admin.bases import ReadOnlyAdmin, ReadOnlyInline
from scheduling.decisions.selectors.report import decision_report
from scheduling.models import DecisionInstance, SchedulingDecision


class DecisionInstanceInline(ReadOnlyInline):
    """Instances of the batch."""

    model = DecisionInstance


@admin.register(SchedulingDecision)
class SchedulingDecisionAdmin(ReadOnlyAdmin):
    """Decisions with their funnel."""

    list_display = ["created_at", "outcome", "verdict", "instance_count", "host_count", "policy_version", "duration_us"]
    list_filter = ["outcome", "policy_version", "created_at"]
    search_fields = ["id", "request_id", "subject", "project_id", "instances__instance_uuid", "instances__host"]
    exclude = ["trace"]
    readonly_fields = ["funnel", "reasons"]
    inlines = [DecisionInstanceInline]
    show_full_result_count = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[SchedulingDecision]:
        """The trace is loaded only where it is shown."""
        return super().get_queryset(request).defer("trace")

    @admin.display(description="Funnel")
    def funnel(self, decision: SchedulingDecision) -> SafeString:
        """Per instance and stage, how many hosts came in and stayed."""
        rounds = decision_report(decision=decision, redacted=False)["rounds"]
        rows = [
            (each["instance_uuid"], stage["name"], stage["hosts_in"], stage["hosts_out"], stage["micros"])
            for each in rounds
            for stage in each["stages"]
        ]
        return _table(("instance", "stage", "in", "left", "µs"), rows)

    @admin.display(description="Hosts that were refused")
    def reasons(self, decision: SchedulingDecision) -> SafeString:
        """The first refusal of each host."""
        hosts = decision_report(decision=decision, redacted=False)["hosts"]
        return _table(("host", "stage", "reason"), [(one["host"], one["stage"], one["sentence"]) for one in hosts])


def _table(names: tuple[str, ...], rows: list[tuple[Any, ...]]) -> SafeString:
    head = format_html_join("", "<th>{}</th>", ((name,) for name in names))
    body = format_html_join(
        "", "<tr>{}</tr>", ((format_html_join("", "<td>{}</td>", ((cell,) for cell in row)),) for row in rows)
    )
    return format_html("<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>", head, body)


@admin.register(DecisionInstance)
class DecisionInstanceAdmin(ReadOnlyAdmin):
    """Which instance was given which host by which decision."""

    list_display = ["instance_uuid", "host", "decision_id", "position"]
    search_fields = ["instance_uuid", "host", "decision__id"]
