"""All faults of the drill."""

from tests.drill.faults import (
    clocks,
    disk_full,
    idle_tree,
    libvirt_fails,
    partition,
    servers_gone,
    twins,
    wakeups,
)

FAULTS = (
    *libvirt_fails.FAULTS,
    *wakeups.FAULTS,
    *idle_tree.FAULTS,
    *clocks.FAULTS,
    *twins.FAULTS,
    *servers_gone.FAULTS,
    *partition.FAULTS,
    *disk_full.FAULTS,
)
