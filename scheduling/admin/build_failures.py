"""Hosts that failed builds of late, read-only."""

from django.contrib import admin

from controlplane.infra.admin.bases import ReadOnlyAdmin
from scheduling.models import BuildFailures


@admin.register(BuildFailures)
class BuildFailuresAdmin(ReadOnlyAdmin):
    """How often each failed, when last and why, and whether that disabled it."""

    list_display = ["host", "total", "last_failed_at", "disabled_at", "last_reason"]
    search_fields = ["host", "last_reason"]
