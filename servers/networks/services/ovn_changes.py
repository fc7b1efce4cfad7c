"""Noting what OVN has to be told: rows in the transaction of the change, and a wake-up of whoever tells it."""

import uuid
from collections.abc import Collection
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now

from computeagent.protocol.networks import NetworkBackendKind
from controlplane.audit_log.recording.audited import audited
from controlplane.infra.db import now_plus
from controlplane.kernel.errors import Conflict
from controlplane.kernel.texts import phrase as _
from controlplane.work.wakeups import wakeups_send
from servers.conf import ovn_options
from servers.models import OvnChange, Port, PortGroup, Router, SecurityGroupRule
from servers.networks.domain.names import OvnSubject

OVN_QUEUE, OVN_WAKEUP = "conductor.ovn", "ovn"
EVERYTHING = uuid.UUID(int=0)


def ovn_changes_note(
    *,
    networks: Collection[UUID] = (),
    ports: Collection[UUID] = (),
    groups: Collection[UUID] = (),
    routers: Collection[UUID] = (),
) -> None:
    """Note that these changed. Six statements at most; none where OVN is not configured, since all is compared when it
    comes to be.
    """
    if not ovn_options().ovn_northbound:
        return
    routers = set(routers)
    if ports:
        elsewhere = Port.objects.filter(pk__in=ports).exclude(network__kind=NetworkBackendKind.OVN.value)
        ports = set(ports) - set(elsewhere.values_list("pk", flat=True))
    if ports:
        # A floating address that stood for a port must not stand for the next one that gets the port's address.
        theirs = Router.objects.filter(Q(floating_ips__port__in=ports) | Q(ports__in=ports))
        routers |= set(theirs.values_list("pk", flat=True))
        # Other members' rules let in what it may send from besides, as long as it is in the group.
        sends_more = PortGroup.objects.filter(port__in=ports).exclude(port__allowed_pairs=[])
        groups = {*groups, *sends_more.values_list("group_id", flat=True)}
    if groups:
        # Rules that name a group go with it.
        named_by = SecurityGroupRule.objects.filter(remote_group__in=groups).values_list("group_id", flat=True)
        groups = {*groups, *named_by}
    changed = [
        (subject, one)
        for subject, ids in (
            (OvnSubject.NETWORK, networks),
            (OvnSubject.GROUP, groups),
            (OvnSubject.PORT, ports),
            (OvnSubject.ROUTER, routers),
        )
        for one in ids
    ]
    _write(changed)


@audited("ovn.check")
def ovn_whole_request() -> None:
    """Ask that everything be compared with OVN now. Raises Conflict where OVN is not used."""
    if not ovn_options().ovn_northbound:
        raise Conflict(_("OVN is not used: OVN_NORTHBOUND is empty."))
    _write([(OvnSubject.ALL, EVERYTHING)])


def ovn_whole_due(*, after_s: float) -> bool:
    """Note that everything has to be compared once this time has passed, unless that is noted already: however often
    it is asked for, one comparison follows. Returns whether it was not. For the process that tells OVN.
    """
    waiting = OvnChange.objects.filter(subject=OvnSubject.ALL.value)
    if waiting.exists():
        return False
    OvnChange.objects.create(
        subject=OvnSubject.ALL.value,
        subject_id=EVERYTHING,
        noted_at=Now(),
        retry_at=now_plus(after_s) if after_s > 0 else None,
    )
    return True


def ovn_wake() -> bool:
    """Wake the conductor that tells OVN, which does at once what is due."""
    wakeups_send([(OVN_QUEUE, OVN_WAKEUP, "")])
    return True


@audited("ovn_change.retry", by="subject_id", also=("subject",))
def ovn_change_retry(*, subject: OvnSubject, subject_id: UUID) -> bool:
    """Have OVN told again now of what it refused. False where it has refused nothing of it (any more)."""
    rows = OvnChange.objects.filter(subject=subject.value, subject_id=subject_id).exclude(problem="")
    with transaction.atomic():
        return bool(rows.update(retry_at=None)) and ovn_wake()


def _write(changed: Collection[tuple[OvnSubject, UUID]]) -> None:
    if changed:
        OvnChange.objects.bulk_create(
            OvnChange(subject=subject.value, subject_id=one, noted_at=Now()) for subject, one in changed
        )
        wakeups_send([(OVN_QUEUE, OVN_WAKEUP, "")])
