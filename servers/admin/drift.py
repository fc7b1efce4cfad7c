"""Drift, read-only: it is healed under /drift/, by the services that know how."""

from django.contrib import admin

from controlplane.infra.admin.bases import ReadOnlyAdmin
from controlplane.infra.admin.filters import typed
from servers.models import DriftCheck, DriftSighting, OrphanGuest, PoolSighting


@admin.register(OrphanGuest)
class OrphanGuestAdmin(ReadOnlyAdmin):
    """Guests that no instance explains."""

    list_display = ["name", "host", "power_state", "first_seen_at", "released_at", "asked_by"]
    list_filter = [typed("host"), typed("power_state")]
    search_fields = ["guest_uuid", "host", "name"]


@admin.register(PoolSighting)
class PoolSightingAdmin(ReadOnlyAdmin):
    """Bytes in pools that no row explains, and rows whose bytes are missing."""

    list_display = ["name", "pool", "host", "is_missing", "was_known", "first_seen_at", "released_at", "asked_by"]
    list_filter = ["is_missing", "was_known"]
    list_select_related = ["pool"]
    search_fields = ["name", "host", "pool__name"]


@admin.register(DriftSighting)
class DriftSightingAdmin(ReadOnlyAdmin):
    """Since when each drift lasts."""

    list_display = ["key", "kind", "first_seen_at", "tried_at", "refusal"]
    list_filter = [typed("kind")]
    search_fields = ["key", "refusal"]


@admin.register(DriftCheck)
class DriftCheckAdmin(ReadOnlyAdmin):
    """When each group of kinds was last checked, and how many of each were found."""

    list_display = ["name", "began_at", "finished_at", "counts", "is_cut"]
