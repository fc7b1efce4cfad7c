"""The Django admin: what the admin of every app builds on, and deletion that asks twice."""

from django.contrib import admin

from controlplane.infra.admin.bases import (
    ReadOnlyAdmin,
    ReadOnlyInline,
    RefusalsAtFields,
    ThroughServicesAdmin,
    run_on_each,
)
from controlplane.infra.admin.confirmation import delete_selected, destructive

# Django's own deletion of chosen rows asks too, but one click answers it for however many rows.
admin.site.disable_action("delete_selected")
admin.site.add_action(delete_selected, "delete_selected")

__all__ = [
    "ReadOnlyAdmin",
    "ReadOnlyInline",
    "RefusalsAtFields",
    "ThroughServicesAdmin",
    "destructive",
    "run_on_each",
]
