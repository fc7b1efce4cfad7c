"""What is out of step, to look at: it is put right under /drift/, by the services that know how."""

from django.contrib import admin

from controlplane.infra.admin.bases import ReadOnlyAdmin
from servers.models import DriftSighting, OrphanGuest


@admin.register(OrphanGuest)
class OrphanGuestAdmin(ReadOnlyAdmin):
    """Guests that no instance explains."""

    list_display = ["guest_uuid", "host", "name", "power_state", "first_seen_at", "released_at", "asked_by"]
    list_filter = ["power_state", "host"]
    search_fields = ["guest_uuid", "host", "name"]


@admin.register(DriftSighting)
class DriftSightingAdmin(ReadOnlyAdmin):
    """Since when each drift lasts."""

    list_display = ["key", "kind", "first_seen_at", "tried_at", "refusal"]
    list_filter = ["kind"]
    search_fields = ["key", "refusal"]
