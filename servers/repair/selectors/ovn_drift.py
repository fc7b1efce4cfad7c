"""Networks of kind OVN that are out of step with OVN, as rows show it."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from controlplane.infra.db import db_now
from controlplane.infra.reader_time import time_text
from controlplane.kernel.texts import gettext_noop
from controlplane.kernel.texts import phrase as _
from servers.conf import ovn_options
from servers.models import OvnChange
from servers.networks.selectors.ovn import OvnStatus, ovn_changes, ovn_networks, ovn_status
from servers.repair.domain.drift import Drift, DriftKind, drift_key

BEHIND_S = 60.0
"""So long a conductor may take to connect, and OVN for a change, before that is out of step."""
SUBJECT = "OVN"


def ovn_drifts() -> Iterator[Drift]:
    """All of it, one after the other."""
    if not ovn_options().ovn_northbound:
        if count := ovn_networks().count():
            yield _away(
                _("Nobody carries {count} networks of kind ovn: OVN_NORTHBOUND is empty.", count=count),
                OvnStatus("", count),
            )
        return
    status, late = ovn_status(), db_now() - timedelta(seconds=BEHIND_S)
    if _is_away(status, late):
        why = status.problem or "no conductor has connected to it yet"
        waits = f"and {status.waiting} changes wait for it"
        yield _away(f"OVN's northbound database is not reached, {waits}: {why}", status)
    elif status.oldest_at is not None and status.oldest_at < late:
        count, oldest = status.waiting - status.refused, time_text(status.oldest_at)
        yield Drift(
            key=drift_key(DriftKind.OVN_BEHIND, "northbound"),
            kind=DriftKind.OVN_BEHIND,
            subject=SUBJECT,
            found=_(
                "{count} changes of networks are not in OVN yet, the oldest since {oldest}.", count=count, oldest=oldest
            ),
            evidence={"waiting": count, "oldest_at": status.oldest_at.isoformat(), "owner": status.owner},
            heal=gettext_noop("Wake the conductor that tells OVN."),
        )
    for change in _refused():
        yield Drift(
            key=drift_key(DriftKind.OVN_REFUSED, change.subject, change.subject_id),
            kind=DriftKind.OVN_REFUSED,
            subject=f"{change.subject} {change.subject_id}",
            found=f"OVN refused {change.subject} {change.subject_id}: {change.problem}",
            evidence={
                "attempts": change.attempts,
                "noted_at": change.noted_at.isoformat(),
                "retry_at": change.retry_at.isoformat() if change.retry_at else None,
            },
            heal=gettext_noop("Let OVN be told of it again now."),
        )


def _is_away(status: OvnStatus, late: datetime) -> bool:
    """Before the first connection only changes that wait for long say that it is late."""
    if status.is_connected:
        return False
    began = status.since or status.oldest_at
    return began is not None and began < late


def _away(found: str, status: OvnStatus) -> Drift:
    return Drift(
        key=drift_key(DriftKind.OVN_AWAY, "northbound"),
        kind=DriftKind.OVN_AWAY,
        subject=SUBJECT,
        found=found,
        evidence={
            "northbound": status.northbound,
            "since": status.since.isoformat() if status.since else None,
            "waiting": status.waiting,
            "owner": status.owner,
        },
    )


def _refused() -> Iterator[OvnChange]:
    """The latest refusal of each thing that OVN refused."""
    before = None
    rows = ovn_changes().exclude(problem="").order_by("subject", "subject_id", "-id")
    for change in rows.iterator(chunk_size=500):
        if (change.subject, change.subject_id) != before:
            before = (change.subject, change.subject_id)
            yield change
