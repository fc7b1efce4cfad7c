"""Consumers and what they hold, read only: services alone make claims and give them back."""

from django.contrib import admin

from controlplane.infra.admin.bases import ReadOnlyAdmin, ReadOnlyInline
from placement.models import Allocation, Consumer


class AllocationInline(ReadOnlyInline):
    model = Allocation
    fields = ["consumer", "provider", "resource_class", "used"]


@admin.register(Consumer)
class ConsumerAdmin(ReadOnlyAdmin):
    list_display = ["uuid", "consumer_type", "project_id", "user_id", "generation", "created_at"]
    list_filter = ["consumer_type"]
    search_fields = ["uuid", "project_id", "user_id"]
    inlines = [AllocationInline]


@admin.register(Allocation)
class AllocationAdmin(ReadOnlyAdmin):
    """Who holds how much of what."""

    list_display = ["consumer", "provider", "resource_class", "used"]
    list_filter = ["resource_class"]
    list_select_related = ["consumer", "provider", "resource_class"]
    search_fields = ["consumer__uuid", "provider__name", "provider__uuid"]
