"""Reading the record of heals: what the control plane put right by itself."""

import uuid
from collections.abc import Collection

from django.db.models import QuerySet

from controlplane.work.models import Heal

MAX_KINDS = 100


def heals() -> QuerySet[Heal]:
    """All of them, the newest first."""
    return Heal.objects.order_by("-created_at", "id")


def heals_of(*, subjects: Collection[uuid.UUID]) -> list[Heal]:
    """What was put right of these, the oldest first. One query."""
    return list(Heal.objects.filter(subject__in=subjects).order_by("created_at", "id"))


def heal_kinds() -> list[str]:
    """The kinds there are entries of, by name. One query."""
    return sorted(Heal.objects.order_by("kind").values_list("kind", flat=True).distinct()[:MAX_KINDS])
