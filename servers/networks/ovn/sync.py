"""Telling OVN what changed, and comparing all with it. Done twice, or cut off anywhere, it ends the same: what is
written is what rows say, and a change is forgotten only after OVN has it.
"""

import logging
import time
from collections.abc import Mapping, Sequence
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import Now

from controlplane.infra.db import now_plus
from controlplane.kernel.ids import parse_uuid
from controlplane.kernel.kill_points import reach
from controlplane.kernel.texts import phrase as _
from controlplane.work.heals import heal_record
from servers.conf import ovn_options
from servers.models import FloatingIP, OvnChange, OvnCheck, Router
from servers.networks.domain.names import FloatingStatus, OvnSubject
from servers.networks.ovn.northbound import Northbound, NorthboundRefused
from servers.networks.ovn.objects.routers import router_problem
from servers.networks.ovn.objects.row import DROP, NorthboundRow
from servers.networks.ovn.objects.state import OvnLayout, OvnState
from servers.networks.ovn.objects.wanted import wanted_rows
from servers.networks.ovn.read import Subjects, state_of, state_whole

log = logging.getLogger(__name__)
BATCH = 500
TOGETHER = 250
"""Ports in one transaction: the database and all who read it work through one at a time."""
RETRY_MAX_S = 600.0
NORTHBOUND = "northbound"
OVN_DRIFT = "ovn_drift"
SHOWN = 50
Wanted = Mapping[str, Sequence[NorthboundRow]]


def layout() -> OvnLayout:
    """How settings say that OVN is used."""
    options = ovn_options()
    return OvnLayout(options.ovn_gateway_chassis, options.ovn_distributed_floating_ips)


def changes_sync(northbound: Northbound) -> int:
    """Tell OVN of the oldest changes. Returns how many of them were done with; 0: nothing is due.

    Rows are read after the changes, so what is changed meanwhile is either told already or noted in a row that stays.
    Raises Unavailable.
    """
    due = OvnChange.objects.filter(Q(retry_at__isnull=True) | Q(retry_at__lte=Now())).order_by("id")
    changes = list(due[:BATCH])
    if not changes:
        return 0
    if any(change.subject == OvnSubject.ALL for change in changes):
        whole_sync(northbound)
    subjects = Subjects()
    places = {
        OvnSubject.NETWORK: subjects.networks,
        OvnSubject.PORT: subjects.ports,
        OvnSubject.GROUP: subjects.groups,
        OvnSubject.ROUTER: subjects.routers,
    }
    for change in changes:
        if change.subject != OvnSubject.ALL:
            places[OvnSubject(change.subject)].add(change.subject_id)
    noted = {f"{kind.value}:{one}": () for kind, ids in places.items() for one in ids}
    state = state_of(subjects)
    refused = rows_write(northbound, {**noted, **wanted_rows(state, layout())})
    reach("servers.networks.ovn.sync:written")
    _routers_report(state, refused)
    done = [change.pk for change in changes if _owner(change) not in refused]
    OvnChange.objects.filter(pk__in=done).delete()
    for change in changes:
        if (reason := refused.get(_owner(change))) is not None:
            rest = min(RETRY_MAX_S, 5.0 * 2 ** min(change.attempts, 10))
            OvnChange.objects.filter(pk=change.pk).update(
                attempts=F("attempts") + 1, retry_at=now_plus(rest), problem=reason[:2000]
            )
    return len(changes)


def _owner(change: OvnChange) -> str:
    return f"{change.subject}:{change.subject_id}"


def changes_compact() -> int:
    """Forget changes of what changed again since: while OVN is away they would only grow. Returns how many."""
    later = OvnChange.objects.filter(
        subject=OuterRef("subject"), subject_id=OuterRef("subject_id"), pk__gt=OuterRef("pk"), retry_at__isnull=True
    )
    gone = OvnChange.objects.filter(Exists(later)).values_list("pk", flat=True)
    deleted, _ = OvnChange.objects.filter(pk__in=list(gone[:5000])).delete()
    return deleted


def rows_write(northbound: Northbound, wanted: Wanted) -> dict[str, str]:
    """Write all of it, TOGETHER ports at a time, after what they rest on. Returns {owner: why OVN refused it}."""
    ports = [owner for owner in wanted if owner.startswith("port:")]
    base = {owner: rows for owner, rows in wanted.items() if not owner.startswith("port:")}
    refused = _write(northbound, base)
    reach("servers.networks.ovn.sync:base_written")
    for begin in range(0, len(ports), TOGETHER):
        refused |= _write(northbound, {owner: wanted[owner] for owner in ports[begin : begin + TOGETHER]})
    return refused


def _write(northbound: Northbound, wanted: Wanted) -> dict[str, str]:
    """In one transaction; where that is refused, in halves, until what is wrong stands alone."""
    if not wanted:
        return {}
    try:
        northbound.reconcile(wanted)
    except NorthboundRefused as error:
        owners = list(wanted)
        if len(owners) == 1:
            log.error("OVN refused %s: %s", owners[0], error)
            return {owners[0]: str(error)}
        half = len(owners) // 2
        first, second = ({owner: wanted[owner] for owner in part} for part in (owners[:half], owners[half:]))
        return _write(northbound, first) | _write(northbound, second)
    return {}


def whole_sync(northbound: Northbound) -> int:
    """Compare everything with OVN, put right what differs and remove what of ours nothing explains. Returns how much
    differed; what has a change noted is only late, and does not count. Raises Unavailable.
    """
    began = time.monotonic()
    state = state_whole()
    wanted = wanted_rows(state, layout())
    late = {_owner(change) for change in OvnChange.objects.exclude(subject=OvnSubject.ALL.value)}
    found = northbound.differences(wanted)
    drift = [one.words for one in found if one.owner not in late]
    is_first = not OvnCheck.objects.filter(name=NORTHBOUND, checked_at__isnull=False).exists()
    refused: dict[str, str] = {}
    if found:
        owners = {one.owner for one in found if one.owner in wanted}
        refused = rows_write(northbound, {owner: wanted.get(owner, ()) for owner in owners} | {DROP: wanted[DROP]})
        reach("servers.networks.ovn.sync:differences_written")
        northbound.reconcile(
            {owner: rows for owner, rows in wanted.items() if owner not in refused}, is_whole=True, but=set(refused)
        )
    _routers_report(state, refused)
    with transaction.atomic():
        _refusals_note(refused)
        OvnCheck.objects.update_or_create(
            name=NORTHBOUND,
            defaults={
                "checked_at": Now(),
                "took_s": round(time.monotonic() - began, 3),
                "rows": sum(map(len, wanted.values())),
                "differed": len(drift),
                "differences": [*[f"{owner}: {why}" for owner, why in refused.items()], *drift][:SHOWN],
            },
        )
        if drift and not is_first:
            heal_record(
                kind=OVN_DRIFT,
                subject=None,
                found=_("{count} rows of OVN's northbound database were not as they should be.", count=len(drift)),
                done=_("They were written as rows here say; what nothing here explains was removed."),
                evidence={"differences": drift[:SHOWN], "refused": refused},
            )
    if drift and not is_first:
        log.warning("OVN differed in %d rows, the first: %s", len(drift), drift[0])
    return len(drift)


def _refusals_note(refused: Mapping[str, str]) -> None:
    """What a comparison could not put right is tried again like a change that was refused, and listed with those."""
    for owner, problem in refused.items():
        subject, _, subject_id = owner.partition(":")
        if (known := parse_uuid(subject_id)) is None or OvnChange.objects.filter(
            subject=subject, subject_id=known
        ).exists():
            continue
        rest = {"attempts": 1, "retry_at": now_plus(5.0), "problem": problem[:2000]}
        OvnChange.objects.create(subject=subject, subject_id=known, noted_at=Now(), **rest)


def _routers_report(state: OvnState, refused: Mapping[str, str]) -> None:
    """What users and operators read of routers and floating addresses: of those alone that OVN was told of now."""
    by_problem: dict[str, list[UUID]] = {}
    floating: dict[FloatingStatus, list[UUID]] = {}
    for one in state.routers:
        problem = refused.get(f"{OvnSubject.ROUTER}:{one.router.id}") or router_problem(one, layout())
        by_problem.setdefault(problem, []).append(UUID(one.router.id))
        status = FloatingStatus.ERROR if problem else FloatingStatus.ACTIVE
        floating.setdefault(status, []).extend(UUID(each.id) for each in one.router.floating)
    for problem, ids in by_problem.items():
        Router.objects.filter(pk__in=ids).exclude(problem=problem).update(problem=problem, updated_at=Now())
    for status, ids in floating.items():
        standing = FloatingIP.objects.filter(pk__in=ids, port__isnull=False).exclude(status=status)
        standing.update(status=status, updated_at=Now())
