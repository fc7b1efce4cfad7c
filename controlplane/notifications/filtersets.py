"""Filters of webhooks: one class serves API and pages."""

from typing import ClassVar

from controlplane.infra.quick_search import QuickSearch
from controlplane.notifications.models import Webhook


class WebhookFilterSet(QuickSearch):
    """?q= (any attribute but the secret), ?name=, ?enabled="""

    search_fields = ("name", "url")
    search_json = ("events",)

    class Meta:
        model = Webhook
        fields: ClassVar[list[str]] = ["name", "enabled"]
