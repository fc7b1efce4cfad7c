"""Old rows go, a batch at a time, so that no transaction is long."""

from django.db.models import Model

from controlplane.infra.db import now_plus

BATCH = 500
DAY_S = 86400.0


def rows_prune(model: type[Model], *, by: str, days: float) -> int:
    """Remove the rows whose time `by` is more than so many days ago (0: none). Returns how many."""
    removed = 0
    while days:
        old = model._default_manager.filter(**{f"{by}__lt": now_plus(-days * DAY_S)}).order_by(by)
        keys = list(old.values_list("pk", flat=True)[:BATCH])
        if not keys:
            break
        model._default_manager.filter(pk__in=keys).delete()
        removed += len(keys)
    return removed
