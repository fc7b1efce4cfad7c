"""Guests that agents found and no instance explains: listed first, released after a grace period, recorded when gone.

Invariant: no guest is touched from here. The agent reports all its guests, learns which ones it may remove, and asks
once more under the guest's lock. A guest that is gone afterwards was removed by it, whatever became of the agent.
"""

import logging
import uuid
from collections.abc import Collection, Mapping, Sequence

from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from computeagent.protocol.bounds import COUNT_MAX, ORPHANS_MAX
from computeagent.protocol.guests import GuestOnHypervisor
from controlplane.infra.db import now_plus
from controlplane.kernel.texts import phrase as _
from controlplane.work.heals import Healed, heals_record
from servers.models import Instance, OrphanGuest
from servers.repair.domain.drift import DriftKind
from servers.repair.selectors.drift import grace_s

log = logging.getLogger(__name__)
NAME_MAX = 255
NAMED = 3


def orphan_guests_report(
    *, host: str, guests: Sequence[GuestOnHypervisor], not_removed_because: str = "", more: int = 0
) -> list[uuid.UUID]:
    """Store all orphan guests of the host; returns those to remove: an operator asked, or the grace period is over.

    `not_removed_because` says why the host's agent removes none. The database's clock counts the grace period, from the
    first report on. `more` is how many it has besides, all after these in the order of their uuids: they are listed
    once these are gone, as is what is told beyond ORPHANS_MAX. A few statements, however many there are.
    """
    found = {uuid.UUID(guest.uuid): guest for guest in guests}
    seen = {pk: found[pk] for pk in sorted(found)[:ORPHANS_MAX]}
    more += len(found) - len(seen)
    with transaction.atomic():
        known = {row.guest_uuid: row for row in OrphanGuest.objects.select_for_update().filter(host=host)}
        last = max(seen) if more and seen else None
        gone = [row for pk, row in known.items() if pk not in seen]
        _gone(gone, unlisted={row.pk for row in gone if last is not None and row.guest_uuid > last})
        _seen(host, seen, not_removed_because, more)
        if new := sorted(seen.keys() - known.keys()):
            named = ", ".join(map(str, new[:NAMED]))
            log.warning("host %s has %d guests more that no instance explains, such as %s", host, len(new), named)
    due = _due().filter(host=host, guest_uuid__in=list(seen))
    return sorted(set(due.values_list("guest_uuid", flat=True)) - _owned(host, seen))


def orphan_guest_release(*, host: str, guest_uuid: uuid.UUID) -> bool:
    """Whether the guest may go, asked under its lock on the host right before. From now on its removal is under way."""
    with transaction.atomic():
        # An instance that is placed here at this moment waits for the guest's lock, and is made anew.
        if _owned(host, [guest_uuid]):
            return False
        rows = _due().filter(host=host, guest_uuid=guest_uuid)
        return bool(rows.update(released_at=Now()))


def guest_explained(guest_uuids: Collection[uuid.UUID]) -> dict[uuid.UUID, str]:
    """The instances of these guests, for people: 'instance web, which is on h2'. Unknown ones are left out."""
    rows = Instance.objects.filter(pk__in=guest_uuids).values_list("pk", "name", "host", "deleted_at")
    return {
        pk: f"instance {name}, " + ("deleted" if deleted_at else f"on {host}" if host else "on no host")
        for pk, name, host, deleted_at in rows
    }


def _seen(host: str, guests: Mapping[uuid.UUID, GuestOnHypervisor], not_removed_because: str, more: int) -> None:
    """One statement. When it was first seen, and who asked for its removal, stay as they are."""
    OrphanGuest.objects.bulk_create(
        [
            OrphanGuest(
                host=host,
                guest_uuid=pk,
                name=guest.name.replace("\0", "")[:NAME_MAX],
                power_state=guest.power_state,
                first_seen_at=Now(),
                last_seen_at=Now(),
                not_removed_because=not_removed_because.replace("\0", "")[:NAME_MAX],
                more=min(more, COUNT_MAX),
            )
            for pk, guest in sorted(guests.items())
        ],
        update_conflicts=True,
        unique_fields=["host", "guest_uuid"],
        update_fields=["name", "power_state", "last_seen_at", "not_removed_because", "more"],
    )


def _gone(rows: list[OrphanGuest], *, unlisted: Collection[int]) -> None:
    """Remove the rows of guests that are gone; of those that are only `unlisted`, for there are too many, too.

    A released one was removed by its agent, which is recorded as a heal; any other was explained by an instance, or
    removed by somebody else.
    """
    released = [row for row in rows if row.released_at is not None and row.pk not in unlisted]
    explained = guest_explained([row.guest_uuid for row in released]) if released else {}
    heals_record(_healed(row, explained.get(row.guest_uuid, "nobody known here")) for row in released)
    if rows:
        OrphanGuest.objects.filter(pk__in=[row.pk for row in rows]).delete()


def _healed(row: OrphanGuest, whose: str) -> Healed:
    return Healed(
        kind=DriftKind.ORPHAN_GUEST.value,
        subject=row.guest_uuid,
        found=_(
            "Host {host} had guest {guest_uuid} ({name}), of {whose}.",
            host=row.host,
            guest_uuid=row.guest_uuid,
            name=row.name or _("without a name"),
            whose=whose,
        ),
        done=_("The host's agent removed the guest and its disks."),
        evidence={
            "host": row.host,
            "whose": whose,
            "power_state": row.power_state,
            "first_seen_at": row.first_seen_at.isoformat(),
            "released_at": row.released_at.isoformat() if row.released_at else None,
            "grace_s": grace_s(DriftKind.ORPHAN_GUEST),
            "asked_by": row.asked_by,
        },
    )


def _due() -> QuerySet[OrphanGuest]:
    grace = now_plus(-grace_s(DriftKind.ORPHAN_GUEST))
    return OrphanGuest.objects.filter(~Q(asked_by="") | Q(first_seen_at__lte=grace), not_removed_because="")


def _owned(host: str, guest_uuids: Collection[uuid.UUID]) -> set[uuid.UUID]:
    """The guests of an instance that lives on this host."""
    rows = Instance.objects.filter(pk__in=list(guest_uuids), host=host, deleted_at__isnull=True)
    return set(rows.values_list("pk", flat=True))
