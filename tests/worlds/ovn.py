"""Guests in networks of kind OVN on a real OVN, for tests of what reaches whom."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from computeagent.protocol.networks import (
    Direction,
    FixedAddress,
    FloatingSpec,
    GroupRule,
    GroupSpec,
    HostPort,
    NetworkSpec,
    RouterLeg,
    RouterSpec,
    SubnetSpec,
)
from servers.conf import OvnOptions
from servers.networks.ovn.northbound import Northbound
from servers.networks.ovn.objects.state import OvnLayout, OvnPort, OvnRouter, OvnState
from servers.networks.ovn.objects.wanted import wanted_rows
from tests.fixtures.ovn import Guest, OvnSite

LEASE_SCRIPT = """#!/bin/sh
[ "$1" = bound ] || exit 0
ip address replace $ip/$mask dev $interface
[ -n "$router" ] && ip route replace default via $router
echo "ip=$ip"
echo "router=$router"
echo "mtu=$mtu"
echo "hostname=$hostname"
echo "dns=$dns"
echo "staticroutes=$staticroutes"
"""
NET_A, NET_B = (f"{letter * 8}-0000-4000-8000-00000000000{letter}" for letter in "ab")
A = NetworkSpec(NET_A, mtu=1442, subnets=(SubnetSpec("sub-a", "10.9.0.0/24", "10.9.0.1", dns_servers=("9.9.9.9",)),))
B = NetworkSpec(NET_B, mtu=1442, subnets=(SubnetSpec("sub-b", "10.9.0.0/24", "10.9.0.1"),))
OUT = NetworkSpec(
    "net-out",
    mtu=1500,
    subnets=(SubnetSpec("sub-out", "203.0.113.0/24", "203.0.113.1", has_dhcp=False),),
    physical_network="physnet1",
)
EGRESS = GroupRule("egress", Direction.EGRESS)
PING = GroupRule("ping", Direction.INGRESS, protocol="icmp")
OPEN = GroupSpec("open", (EGRESS, PING))
CLOSED = GroupSpec("closed", (EGRESS,))
ROUTER = OvnRouter(
    RouterSpec(
        "router",
        legs=(RouterLeg("leg-a", NET_A, "fa:16:3e:00:09:01", (FixedAddress("sub-a", "10.9.0.1"),)),),
        gateway=RouterLeg("gateway", "net-out", "fa:16:3e:00:09:02", (FixedAddress("sub-out", "203.0.113.9"),)),
        floating=(FloatingSpec("floating", "203.0.113.22", "10.9.0.12", "a2"),),
    ),
    {"floating": "fa:16:3e:00:09:22"},
)


def guest_port(name: str, network: str, last: int, *groups: str, **fields: Any) -> HostPort:
    address = FixedAddress(f"sub-{network[-1]}", f"10.9.0.{last}")
    return HostPort(
        name, network, f"fa:16:3e:00:0{1 + (network == NET_B)}:{last:02x}", (address,), group_ids=groups, **fields
    )


STATE = OvnState(
    networks=(A, B, OUT),
    groups=(OPEN, CLOSED),
    ports=(
        OvnPort(guest_port("a1", NET_A, 11, "open", hostname="web-1"), "hv1"),
        OvnPort(guest_port("a2", NET_A, 12, "open"), "hv2"),
        OvnPort(guest_port("b1", NET_B, 12, "open"), "hv1"),
        OvnPort(guest_port("b2", NET_B, 13, "open"), "hv2"),
    ),
    routers=(ROUTER,),
)


class OvnWorld:
    """OVN with guests; `tell` brings it to another state."""

    def __init__(self, site: OvnSite, script: Path) -> None:
        self.site, self.script, self.state = site, script, STATE
        self.ups: dict[str, bool] = {}
        options = OvnOptions(ovn_northbound=site.central.address("nb"))
        self.northbound = Northbound.connect(options, ports_up=self.ups.__setitem__)
        self.tell(STATE)
        first, second = site.chassis
        self.guests = {
            "a1": first.guest("a1", "fa:16:3e:00:01:0b"),
            "a2": second.guest("a2", "fa:16:3e:00:01:0c"),
            "b1": first.guest("b1", "fa:16:3e:00:02:0c"),
            "b2": second.guest("b2", "fa:16:3e:00:02:0d"),
        }

    def tell(self, state: OvnState) -> None:
        self.state = state
        self.northbound.reconcile(wanted_rows(state, OvnLayout(("hv1", "hv2"))), is_whole=True)

    def __getitem__(self, name: str) -> Guest:
        return self.guests[name]


def until(condition: Callable[[], object], within_s: float = 60.0) -> float:
    """Seconds until it held."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < within_s, "not in time"
        time.sleep(0.02)
    return time.monotonic() - began
