"""Drift, read-only: it is healed under /drift/, by the services that know how."""

from django.contrib import admin

from controlplane.infra.admin.bases import ReadOnlyAdmin
from servers.models import DriftCheck, DriftSighting, OrphanGuest


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


@admin.register(DriftCheck)
class DriftCheckAdmin(ReadOnlyAdmin):
    """When each group of kinds was last checked, and how many of each were found."""

    list_display = ["name", "began_at", "finished_at", "counts", "is_cut"]
