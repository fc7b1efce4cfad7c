"""Wake-ups of hosts are sent again until what they are about is done: one may be lost with a connection or a process.

Those of work are sent again by the reconciler, those of consoles by whoever waits for the host. So an agent asks what
waits for it seldom, and nobody waits for that.
"""

from computeagent.protocol.work import HostWakeupKind
from controlplane.work.wakeups import wakeups_send
from controlplane.work.work import compute_queue
from scheduling.fleet.selectors.liveness import hosts_up
from servers.images.services.host_images import hosts_with_images_to_fetch
from servers.networks.selectors.host_networks import hosts_behind

RESEND_EVERY_S = 15.0
QUIET_S = 15.0
"""What is asked for or told of later than that may be under way."""


def host_wakeups_resend() -> int:
    """Wake hosts that are up and whose networks are behind, or that have images to fetch. How many wake-ups that are.

    Three queries, and one statement for 200 wake-ups. A host that is down asks by itself when it comes back.
    """
    behind, fetching = hosts_behind(older_s=QUIET_S), hosts_with_images_to_fetch(silent_s=QUIET_S)
    up = hosts_up(behind | fetching) if behind or fetching else set()
    wakeups = [(compute_queue(host), HostWakeupKind.NETWORKS.value, "") for host in behind & up]
    wakeups += [(compute_queue(host), HostWakeupKind.IMAGES.value, "") for host in fetching & up]
    wakeups_send(wakeups)
    return len(wakeups)
