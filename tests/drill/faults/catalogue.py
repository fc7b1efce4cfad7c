"""All faults of the drill."""

from tests.drill.faults import (
    clocks,
    disk_full,
    doorbells,
    idle_tree,
    libvirt_fails,
    partition,
    servers_gone,
    twins,
)

FAULTS = (
    *libvirt_fails.FAULTS,
    *doorbells.FAULTS,
    *idle_tree.FAULTS,
    *clocks.FAULTS,
    *twins.FAULTS,
    *servers_gone.FAULTS,
    *partition.FAULTS,
    *disk_full.FAULTS,
)
