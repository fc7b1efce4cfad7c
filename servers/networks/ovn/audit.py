"""What differs between OVN and the rows here, for admins. Nothing is written."""

from dataclasses import dataclass

from controlplane.kernel.errors import Unavailable
from controlplane.kernel.texts import phrase as _
from servers.conf import ovn_options
from servers.models import OvnChange
from servers.networks.ovn.northbound import Northbound
from servers.networks.ovn.objects.wanted import wanted_rows
from servers.networks.ovn.read import state_whole
from servers.networks.ovn.sync import layout

MAX_WAITING = 100


@dataclass(frozen=True, slots=True)
class OvnAudit:
    """Sentences: what differs now, and which changes OVN does not have yet (the oldest of them). `rows` are wanted."""

    rows: int
    differences: tuple[str, ...]
    waiting: tuple[str, ...]


def ovn_audit() -> OvnAudit:
    """Compare everything, beside the conductor and without its lock. Raises Unavailable."""
    options = ovn_options()
    if not options.ovn_northbound:
        raise Unavailable(_("OVN is not used: OVN_NORTHBOUND is empty."))
    northbound = Northbound.connect(options, has_lock=False)
    try:
        wanted = wanted_rows(state_whole(), layout())
        differences = tuple(one.words for one in northbound.differences(wanted))
    finally:
        northbound.close()
    waiting = tuple(
        f"{change.subject} {change.subject_id} waits since {change.noted_at:%Y-%m-%d %H:%M:%S} UTC"
        + (f", refused {change.attempts} times: {change.problem}" if change.problem else "")
        for change in OvnChange.objects.order_by("id")[:MAX_WAITING]
    )
    return OvnAudit(sum(map(len, wanted.values())), differences, waiting)
