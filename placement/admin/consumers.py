"""Consumers and what they hold, read only: services alone make claims and give them back."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from controlplane.infra.admin.bases import ReadOnlyAdmin, ReadOnlyInline
from controlplane.infra.admin.filters import named, typed
from controlplane.infra.admin.names import id_fields, name_column, names_attach
from controlplane.infra.admin.site import site_of
from placement.models import Allocation, Consumer

HOLDER = name_column("uuid", is_linked=False)


class AllocationInline(ReadOnlyInline):
    model = Allocation
    fields = ["consumer", "provider", "resource_class", "used"]


@admin.register(Consumer)
class ConsumerAdmin(ReadOnlyAdmin):
    list_display = ["uuid", "consumer_type", "project_id", "user_id", "generation", "created_at"]
    list_filter = [typed("consumer_type"), typed("project_id", "project id")]
    search_fields = ["uuid", "project_id", "user_id"]
    inlines = [AllocationInline]


@admin.register(Allocation)
class AllocationAdmin(ReadOnlyAdmin):
    """Who holds how much of what."""

    # By time. The model's own order would sort the whole table by three others.
    ordering = ["-pk"]
    list_display = ["holder", "provider", "resource_class", "used"]
    list_filter = [named("resource_class"), named("provider")]
    list_select_related = ["consumer", "provider", "resource_class"]
    search_fields = ["consumer__uuid", "provider__name", "provider__uuid"]

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """The page, with the names of the consumers, which are instances mostly."""
        page = super().get_changelist_instance(request)
        consumers = [row.consumer for row in page.result_list]
        names_attach(consumers, id_fields(site_of(self), Consumer), request.user)
        return page

    @admin.display(description=_("consumer"), ordering="consumer__uuid")
    def holder(self, row: Allocation) -> str:
        """By name where it has one."""
        return HOLDER(row.consumer)
