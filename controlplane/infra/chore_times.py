"""When clean-ups last ran, told by the leases that the reconciler takes for them."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from controlplane.infra.jobs import CHORES
from controlplane.infra.models import SoloLease

LEASE = "chore-{name}"
"""As `controlplane.infra.reconcile` names them; such a lease is taken for as long as the chore rests."""


def chores_ran_at(names: Iterable[str]) -> dict[str, datetime]:
    """By the name of the chore; those that never ran are missing. One query."""
    leases = {LEASE.format(name=name): name for name in names if name in CHORES}
    rows = SoloLease.objects.filter(name__in=leases).values_list("name", "until")
    return {leases[lease]: until - timedelta(seconds=CHORES[leases[lease]].every_s) for lease, until in rows}
