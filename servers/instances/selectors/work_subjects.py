"""What pieces of work are about, in words."""

import uuid
from collections.abc import Iterable

from servers.models import Instance


def subject_names(*, ids: Iterable[uuid.UUID]) -> dict[uuid.UUID, tuple[str, bool]]:
    """(name, whether it is still there) of those ids that are instances. One query. For admins."""
    rows = Instance.objects.filter(pk__in=set(ids)).values_list("pk", "name", "deleted_at")
    return {pk: (name, deleted_at is None) for pk, name, deleted_at in rows}
