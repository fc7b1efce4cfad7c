"""All faults of the drill."""

from tests.drill.faults import (
    clocks,
    disk_full,
    each_verb,
    gateways,
    idle_tree,
    libvirt_fails,
    ovn_gone,
    partition,
    refused_agents,
    servers_gone,
    twins,
    wakeups,
    web_killed,
)

FAULTS = (
    *libvirt_fails.FAULTS,
    *wakeups.FAULTS,
    *idle_tree.FAULTS,
    *clocks.FAULTS,
    *twins.FAULTS,
    *servers_gone.FAULTS,
    *ovn_gone.FAULTS,
    *partition.FAULTS,
    *disk_full.FAULTS,
    *each_verb.FAULTS,
    *gateways.FAULTS,
    *refused_agents.FAULTS,
    *web_killed.FAULTS,
)
