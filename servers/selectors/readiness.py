"""Can a VM be created now? If not, what is missing."""

from django.db import DatabaseError, connection

from controlplane.infra.solo import lease_is_held
from scheduling.selectors.hosts import hosts_schedulable_count
from servers.domain.images import ImageStatus
from servers.models import Flavor, Image


def readiness_reasons() -> list[str]:
    """Why no VM can be created; empty when one can."""
    try:
        connection.ensure_connection()
        checks = [
            (Flavor.objects.filter(disabled=False).exists(), "there is no flavor"),
            (Image.objects.filter(status=ImageStatus.ACTIVE).exists(), "there is no active image"),
            (hosts_schedulable_count() > 0, "no compute host is enabled and up"),
            (lease_is_held("conductor-canary"), "no conductor answers"),
        ]
    except DatabaseError as error:
        return [f"the database does not answer: {type(error).__name__}"]
    return [reason for is_fine, reason in checks if not is_fine]
