"""The Django admin: what the admin of every app builds on, and deletion that asks twice."""

from controlplane.infra.admin.bases import (
    ReadOnlyAdmin,
    ReadOnlyInline,
    RefusalsAtFields,
    ThroughServicesAdmin,
    run_on_each,
)
from controlplane.infra.admin.confirmation import destructive

__all__ = [
    "ReadOnlyAdmin",
    "ReadOnlyInline",
    "RefusalsAtFields",
    "ThroughServicesAdmin",
    "destructive",
    "run_on_each",
]
