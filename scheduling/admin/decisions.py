"""Decisions with their funnel."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from controlplane.infra.admin.bases import ReadOnlyAdmin, ReadOnlyInline
from controlplane.infra.admin.filters import named, typed
from scheduling.decisions.selectors.report import decision_report
from scheduling.models import DecisionInstance, SchedulingDecision

MAX_HOSTS = 200
"""Refused hosts that are shown here; a fleet has thousands."""


class DecisionInstanceInline(ReadOnlyInline):
    """Instances of the batch."""

    model = DecisionInstance


@admin.register(SchedulingDecision)
class SchedulingDecisionAdmin(ReadOnlyAdmin):
    """Decisions with their funnel."""

    list_display = ["created_at", "subject", "outcome", "verdict", "project_id", "instance_count", "host_count"]
    list_filter = ["outcome", "created_at", named("project_id"), typed("policy_version", "policy")]
    search_fields = ["id", "request_id", "subject", "project_id", "instances__instance_uuid", "instances__host"]
    exclude = ["trace"]
    readonly_fields = ["funnel", "reasons"]
    inlines = [DecisionInstanceInline]
    show_full_result_count = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[SchedulingDecision]:
        """The trace is loaded only where it is shown."""
        return super().get_queryset(request).defer("trace")

    @admin.display(description=_("Funnel"))
    def funnel(self, decision: SchedulingDecision) -> SafeString:
        """Per instance and stage, how many hosts came in and stayed."""
        rounds = decision_report(decision=decision, redacted=False)["rounds"]
        rows = [
            (each["instance_uuid"], stage["name"], stage["hosts_in"], stage["hosts_out"], stage["micros"])
            for each in rounds
            for stage in each["stages"]
        ]
        return _table(("instance", "stage", "in", "left", "µs"), rows)

    @admin.display(description=_("Hosts that were refused"))
    def reasons(self, decision: SchedulingDecision) -> SafeString:
        """The first refusal of each host."""
        hosts = decision_report(decision=decision, redacted=False)["hosts"]
        shown = _table(
            ("host", "stage", "reason"), [(one["host"], one["stage"], one["sentence"]) for one in hosts[:MAX_HOSTS]]
        )
        more = len(hosts) - MAX_HOSTS
        return format_html("{}<p>and {} more, on its page in the panel</p>", shown, more) if more > 0 else shown


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
