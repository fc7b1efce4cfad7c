"""Ownership: who alone does something for good. Ownership is a lease that does not change hands by running out.

Silence says nothing about what its holder left behind, so whoever wants the ownership of a silent holder must have a
reason of its own; the service that hands it over decides. Two that want it at once: one gets it.
"""

from collections.abc import Collection
from dataclasses import dataclass

from django.db import IntegrityError, connection, transaction
from django.db.models import Exists, Q
from django.db.models.functions import Now

from controlplane.infra.db import later_sql, later_value, now_plus
from controlplane.infra.prepared import PreparedStatement
from controlplane.work.models import NamedLease


@dataclass(frozen=True, slots=True, order=True)
class Ownership:
    """Who has to hold which ownership for a statement to take effect."""

    name: str
    owner: str


# Every agent renews its own each half minute, and locks it for whatever it tells of its host.
_RENEW = PreparedStatement(
    "ownership_renew",
    lambda: f"UPDATE work_namedlease SET until = {later_sql()} WHERE name = %s AND owner = %s RETURNING name",  # noqa: S608
    types=["double precision", "text", "text"],
)
_HELD_SQL = "SELECT name FROM work_namedlease WHERE name = %s AND owner = %s"
_HELD = PreparedStatement("ownership_held", lambda: _HELD_SQL, types=["text", "text"])
_LOCK = PreparedStatement(
    "ownership_lock",
    lambda: _HELD_SQL + (" FOR NO KEY UPDATE" if connection.features.has_select_for_no_key_update else ""),
    types=["text", "text"],
)
OWNED_SQL = " AND EXISTS (SELECT 1 FROM work_namedlease AS held WHERE held.name = %s AND held.owner = %s)"
"""For statements written in SQL: the parameters are `name` and `owner`."""


def owned(ownership: Ownership | None) -> Q:
    """The same as a condition of a query; None demands nothing."""
    if ownership is None:
        return Q()
    return Q(Exists(NamedLease.objects.filter(name=ownership.name, owner=ownership.owner)))


def ownership_holds(ownership: Ownership) -> bool:
    """Whether the ownership is the owner's at this moment."""
    return bool(_HELD.rows([ownership.name, ownership.owner]))


def ownership_lock(ownership: Ownership) -> bool:
    """Whether the ownership is the owner's, and it stays so until the caller's transaction ends."""
    return bool(_LOCK.rows([ownership.name, ownership.owner]))


@dataclass(frozen=True, slots=True)
class OwnershipHolder:
    """Who has ownership; `is_silent` when it has sent no heartbeat for as long as it had promised."""

    owner: str
    is_silent: bool


def ownership_renew(*, name: str, owner: str, seconds: float) -> bool:
    """Promise to be heard of within `seconds`. False when the ownership is not the owner's."""
    return bool(_RENEW.rows([later_value(seconds), name, owner]))


def ownerships_renew(*, names: Collection[str], owners: Collection[str], seconds: float) -> list[str]:
    """The same for many: the names that are held by one of the owners. Of a name, at most one of them is its owner."""
    rows = NamedLease.objects.filter(name__in=list(names), owner__in=list(owners))
    rows.update(until=now_plus(seconds))
    return list(rows.values_list("name", flat=True))


def ownership_holder(*, name: str) -> OwnershipHolder | None:
    """Who has the ownership; None for one that nobody ever took."""
    row = NamedLease.objects.filter(name=name).first()
    if row is None:
        return None
    return OwnershipHolder(row.owner, NamedLease.objects.filter(name=name, until__lte=Now()).exists())


def ownership_transfer(*, name: str, before: str | None, owner: str, seconds: float) -> bool:
    """Give the ownership from `before` (None: from nobody) to `owner`. False when it changed hands meanwhile."""
    if before is not None:
        return bool(NamedLease.objects.filter(name=name, owner=before).update(owner=owner, until=now_plus(seconds)))
    try:
        with transaction.atomic():
            NamedLease.objects.create(name=name, owner=owner, until=now_plus(seconds))
    except IntegrityError:
        return False
    return True


def owners_ending(text: str) -> list[str]:
    """The owners that end with this. For whoever asks for ownership the first time: it reads all of them."""
    return list(NamedLease.objects.filter(owner__endswith=text).order_by("name").values_list("owner", flat=True))


def ownership_end(*, name: str, having: str) -> bool:
    """Nobody has the ownership any more, if its owner has this text in its name. Returns whether that was so."""
    return bool(NamedLease.objects.filter(name=name, owner__contains=having).delete()[0])


def ownerships_prune(*, having: str, older_s: float) -> int:
    """Forget the owners with this text in their names that promised nothing for so long. Returns how many."""
    rows = NamedLease.objects.filter(owner__contains=having, until__lt=now_plus(-older_s))
    return rows.delete()[0]
