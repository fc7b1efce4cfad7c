"""One at a time, for thrift: a named lease on the database's clock, which passes to whoever comes when it ran out.

No user of these functions may rest its correctness on it. `host_ownership` keeps rows of the same table under names of
its own, which never pass by running out: what rests on those is said there.
"""

from collections.abc import Iterable

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.db.models.functions import Now

from controlplane.infra.db import now_plus
from controlplane.work.models import NamedLease


def lease_renew(*, name: str, owner: str, seconds: float, steal: bool = False) -> bool:
    """Hold `name` for `seconds`: True when it is ours now. With `steal`, whoever comes last holds it (a heartbeat)."""
    mine = NamedLease.objects.filter(name=name)
    if not steal:
        mine = mine.filter(Q(owner=owner) | Q(until__lt=Now()))
    if mine.update(owner=owner, until=now_plus(seconds)):
        return True
    try:
        with transaction.atomic():
            NamedLease.objects.create(name=name, owner=owner, until=now_plus(seconds))
    except IntegrityError:
        return False
    return True


def lease_is_held(name: str) -> bool:
    """Whether anybody holds `name` now."""
    return NamedLease.objects.filter(name=name, until__gt=Now()).exists()


def leases_held(names: Iterable[str]) -> set[str]:
    """Which of `names` somebody holds now. One query."""
    rows = NamedLease.objects.filter(name__in=list(names), until__gt=Now())
    return set(rows.values_list("name", flat=True))
