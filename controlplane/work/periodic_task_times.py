"""When clean-ups last ran, told by the leases that the reconciler takes for them."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from controlplane.work.jobs import CHORES
from controlplane.work.models import NamedLease


def chores_ran_at(names: Iterable[str]) -> dict[str, datetime]:
    """By the name of the chore; those that never ran are missing. One query."""
    chores = {CHORES[name].lease: CHORES[name] for name in names if name in CHORES}
    rows = NamedLease.objects.filter(name__in=chores).values_list("name", "until")
    return {chores[lease].name: until - timedelta(seconds=chores[lease].every_s) for lease, until in rows}
