"""Filters of the audit log: one class serves API and page."""

from typing import Any

import django_filters
from django.db.models import Q, QuerySet

from controlplane.audit_log.models import AuditLogEntry, AuditResult
from controlplane.audit_log.recording.actor_scope import DOORS
from controlplane.infra.list_filters import MomentFilter
from controlplane.infra.quick_search import QuickSearch
from controlplane.kernel.ids import parse_uuid


class AuditLogFilterSet(QuickSearch):
    """?q=, ?action=, ?kind=, ?user=, ?target=, ?door=, ?result=, ?request_id=, ?project=, ?after=, ?before="""

    search_fields = ("user_name", "action", "target_name", "request_id", "reason")
    search_ids = ("target_id",)

    action = django_filters.CharFilter(method="by_action", label="instance.stop, or all verbs of a kind: instance.")
    kind = django_filters.CharFilter(field_name="target_kind", label="Kind of target: instance, flavor, host ...")
    user = django_filters.CharFilter(method="by_user", label="A user's name or id.")
    target = django_filters.CharFilter(method="by_target", label="Id or name of the target.")
    door = django_filters.ChoiceFilter(choices=[(door, door) for door in DOORS])
    result = django_filters.ChoiceFilter(choices=AuditResult.choices)
    request_id = django_filters.CharFilter()
    project = django_filters.UUIDFilter(field_name="project_id")
    after = MomentFilter(field_name="occurred_at", lookup_expr="gte", label="Not before this time.")
    before = MomentFilter(field_name="occurred_at", lookup_expr="lt", label="Before this time.")

    class Meta:
        model = AuditLogEntry
        fields: list[str] = []

    def by_action(self, rows: QuerySet[Any], _name: str, value: str) -> QuerySet[Any]:
        """One action; with a dot at its end all actions of a kind."""
        return rows.filter(action__startswith=value) if value.endswith(".") else rows.filter(action=value)

    def by_user(self, rows: QuerySet[Any], _name: str, value: str) -> QuerySet[Any]:
        """By name or id."""
        return rows.filter(_uuid_or("user_id", value, user_name=value))

    def by_target(self, rows: QuerySet[Any], _name: str, value: str) -> QuerySet[Any]:
        """By id or name."""
        return rows.filter(Q(target_id=value) | Q(target_name=value))


def _uuid_or(field: str, value: str, **other: str) -> Q:
    found = parse_uuid(value)
    return Q(**other) if found is None else Q(**{field: found}) | Q(**other)
