"""The failed-build counter of a host: it only feeds a weigher, nothing is switched off by it."""

from django.db.models import F

from scheduling.models import ComputeNode


def build_failure_count(*, host: str) -> None:
    """One more build failed through this host's own fault. Atomic in the database, so nothing is lost."""
    ComputeNode.objects.filter(host=host).update(failed_builds=F("failed_builds") + 1)


def build_failure_reset(*, host: str) -> None:
    """A build worked: the host is trusted again. Writes only where there is something to forget."""
    ComputeNode.objects.filter(host=host, failed_builds__gt=0).update(failed_builds=0)
