"""What lists of bulk jobs can be narrowed by."""

import django_filters
from django.db.models import Q, QuerySet

from controlplane.infra.list_filters import YesNoFilter
from controlplane.infra.quick_search import QuickSearch
from servers.bulk.domain import BulkItemState, BulkKind
from servers.models import BulkJob, BulkJobItem


class BulkJobFilterSet(QuickSearch):
    """?q= (any attribute), ?kind=, ?action=, ?request_id=, ?is_open=, ?has_failed="""

    search_fields = ("action", "kind", "user_name")
    search_requests = ("request_id",)

    kind = django_filters.ChoiceFilter(choices=[(one.value, one.value) for one in BulkKind])
    is_open = YesNoFilter(field_name="finished_at", lookup_expr="isnull", label="Under way")
    has_failed = YesNoFilter(method="by_failure", label="Some items failed")

    class Meta:
        model = BulkJob
        fields = ["action", "request_id"]

    @classmethod
    def condition_of(cls, word: str) -> Q:
        """Also by the names of its items."""
        items = BulkJobItem.objects.filter(name__icontains=word)
        return super().condition_of(word) | Q(pk__in=items.values("job_id"))

    def by_failure(self, rows: QuerySet[BulkJob], _name: str, value: bool) -> QuerySet[BulkJob]:
        """With failed items, or without."""
        failed = BulkJobItem.objects.filter(state=BulkItemState.FAILED).values("job_id")
        return rows.filter(pk__in=failed) if value else rows.exclude(pk__in=failed)
