"""What is to be done, and who does it."""

from django.contrib import admin

from controlplane.infra.admin_bases import ReadOnlyAdmin
from controlplane.work.models import NamedLease, Wakeup, Work


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


@admin.register(Wakeup)
class DoorbellAdmin(ReadOnlyAdmin):
    """Bells not yet answered."""

    list_display = ["queue", "code", "ref", "rung_at"]
    list_filter = ["code"]
    search_fields = ["queue", "ref"]


@admin.register(NamedLease)
class SoloLeaseAdmin(ReadOnlyAdmin):
    """Who does what periodic work now."""

    list_display = ["name", "owner", "until"]
