"""How far OVN is, for admins: the connection, what the last comparison found, and what it does not have yet.

Rows are read: OVN itself is asked by a conductor alone, and by `manage.py ovn_audit`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Min, Q, QuerySet

from computeagent.protocol.networks import NetworkBackendKind
from servers.conf import ovn_options
from servers.models import Network, OvnChange, OvnCheck


@dataclass(frozen=True, slots=True)
class OvnStatus:
    """`northbound` is empty where OVN is not used. `since`: when the connection came to be, or was lost.

    `rows` were wanted at the last comparison (`checked_at`), of which `differed` were not as they should be and were
    put right; `differences` says which. `waiting` changes are not in OVN yet, the oldest since `oldest_at`; `refused`
    of them it has refused.
    """

    northbound: str
    networks: int
    is_connected: bool = False
    problem: str = ""
    owner: str = ""
    since: datetime | None = None
    checked_at: datetime | None = None
    took_s: float = 0.0
    rows: int = 0
    differed: int = 0
    differences: Sequence[str] = ()
    waiting: int = 0
    oldest_at: datetime | None = None
    refused: int = 0


def ovn_status() -> OvnStatus:
    """As it is now, in three queries."""
    northbound = ovn_options().ovn_northbound
    networks = ovn_networks().count()
    waits = OvnChange.objects.aggregate(
        waiting=Count("pk"),
        refused=Count("pk", filter=~Q(problem="")),
        oldest_at=Min("noted_at", filter=Q(problem="")),
    )
    check = OvnCheck.objects.first()
    if check is None:
        return OvnStatus(northbound, networks, **waits)
    return OvnStatus(
        northbound,
        networks,
        is_connected=check.is_connected,
        problem=check.problem,
        owner=check.owner,
        since=check.changed_at,
        checked_at=check.checked_at,
        took_s=check.took_s,
        rows=check.rows,
        differed=check.differed,
        differences=check.differences,
        **waits,
    )


def ovn_networks() -> QuerySet[Network]:
    """Networks of kind OVN, of all projects."""
    return Network.objects.filter(kind=NetworkBackendKind.OVN.value)


def ovn_changes() -> QuerySet[OvnChange]:
    """What OVN does not have yet, the oldest first."""
    return OvnChange.objects.order_by("id")
