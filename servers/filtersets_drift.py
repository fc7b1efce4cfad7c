"""What the list of drift can be narrowed by."""

import django_filters

from controlplane.infra.quick_search import QuickSearch
from servers.models import DriftSighting
from servers.repair.domain.drift import KIND_LABELS


class DriftFilterSet(QuickSearch):
    """?q= (any attribute), ?kind=, ?host=, ?instance="""

    search_fields = ("subject", "found", "heal", "obstacle", "host", "kind", "asked_by")
    search_ids = ("instance_id",)

    kind = django_filters.MultipleChoiceFilter(choices=[(kind.value, words) for kind, words in KIND_LABELS.items()])
    host = django_filters.CharFilter()
    instance = django_filters.UUIDFilter(field_name="instance_id")

    class Meta:
        model = DriftSighting
        fields: list[str] = []
