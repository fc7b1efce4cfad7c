"""Somebody has to be left who can undo what was done."""

from django.db import transaction

from controlplane.identity.models import User


@transaction.atomic
def is_last_superuser(*, user: User) -> bool:
    """Whether nobody else is an active superuser. Locks them all while the caller's transaction lasts."""
    rows = User.objects.select_for_update().filter(is_superuser=True, is_active=True).order_by("pk")
    return list(rows.values_list("pk", flat=True)) == [user.pk]
