"""Work rows in the admin: to look at; services change them."""

from django.contrib import admin
from django.http import HttpRequest

from controlplane.infra.models import Doorbell, SoloLease, Work


class ReadOnlyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Rows that only services write."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Never by hand."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        """Never by hand."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        """Never by hand."""
        return False


@admin.register(Work)
class WorkAdmin(ReadOnlyAdmin):
    """What waits, runs and ended."""

    list_display = [
        "kind",
        "subject",
        "queue",
        "state",
        "attempt",
        "step",
        "lease_owner",
        "lease_until",
        "created_at",
    ]
    list_filter = ["state", "kind", "queue"]
    search_fields = ["id", "subject", "request_id", "lease_owner"]


@admin.register(Doorbell)
class DoorbellAdmin(ReadOnlyAdmin):
    """Bells not yet answered."""

    list_display = ["queue", "code", "ref", "rung_at"]
    list_filter = ["code"]
    search_fields = ["queue", "ref"]


@admin.register(SoloLease)
class SoloLeaseAdmin(ReadOnlyAdmin):
    """Who does what periodic work now."""

    list_display = ["name", "owner", "until"]
