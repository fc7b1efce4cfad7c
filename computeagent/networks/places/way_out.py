"""The way from the outside network of one machine to the outside, and from the machine to floating addresses.

As root the machine itself is the gateway: an interface of ours in the outside network, and an nftables table of ours
that hides the network behind the machine's addresses. So a floating address is reached from the machine directly. As
an ordinary user the gateway is in the user's own namespaces, and `pasta` (package passt) carries what leaves them:
floating addresses are reached from inside (`manage.py network_shell`).

In both cases guests open nothing on the machine itself: they may ping the gateway, and get answers to nothing else.
"""

import ipaddress
import json
import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from computeagent.networks.base import NetworkError
from computeagent.networks.places.commands import links, run
from computeagent.networks.places.grounds import Ground, processes
from computeagent.networks.places.names import OUTSIDE, PUBLIC, PlaceNames, gateway_of

FORWARDING = Path("/proc/sys/net/ipv4/ip_forward")
UPLINK_PORT = "machine"
"""In the middle: the port of the outside bridge that leads to the machine."""


class WayOut(Protocol):
    """The gateway of the outside network."""

    def ensure(self, cidr: str) -> None:
        """Have it. Raises NetworkError."""

    def remove(self) -> bool:
        """Whether there was any of it."""


def way_out_of(ground: Ground, names: PlaceNames, directory: Path) -> WayOut:
    """That of the user who runs this."""
    return RootWayOut(ground, names) if os.geteuid() == 0 else UserWayOut(ground, names, directory)


class RootWayOut:
    """A pair of interfaces between the machine and the middle, and NAT on the machine."""

    def __init__(self, ground: Ground, names: PlaceNames) -> None:
        self._ground = ground
        self._names = names

    def ensure(self, cidr: str) -> None:
        """The interface, its address, forwarding, and the table."""
        link, middle = self._names.machine_link, self._ground.prefix(self._names.middle)
        if UPLINK_PORT not in links(middle) or link not in links(()):
            if link in links(()):
                run(("ip", "link", "delete", link))
            run(("ip", "link", "add", UPLINK_PORT, "type", "veth", "peer", "name", link, "netns", "1"), prefix=middle)
        run(("ip", "link", "set", UPLINK_PORT, "addrgenmode", "none", "master", PUBLIC, "up"), prefix=middle)
        run(("ip", "link", "set", link, "addrgenmode", "none", "up"))
        prefix_length = ipaddress.ip_network(cidr).prefixlen
        run(("ip", "address", "replace", f"{gateway_of(cidr)}/{prefix_length}", "dev", link))
        run(("nft", "-f", "-"), given=nat_rules(self._names.table, inside=link, cidr=cidr))
        if FORWARDING.read_text().strip() != "1":
            FORWARDING.write_text("1")

    def remove(self) -> bool:
        """The interface and the table. Forwarding stays on: others may rely on it by now."""
        had = self._names.machine_link in links(())
        if had:
            run(("ip", "link", "delete", self._names.machine_link))
        with suppress(NetworkError):
            run(("nft", "delete", "table", "ip", self._names.table))
        return had


class UserWayOut:
    """The gateway is the middle's bridge; pasta has an interface in the middle and sockets on the machine."""

    def __init__(self, ground: Ground, names: PlaceNames, directory: Path) -> None:
        self._ground = ground
        self._names = names
        self._directory = directory
        self._pid_file = directory / "pasta.pid"

    def ensure(self, cidr: str) -> None:
        """Address and rules, then pasta, unless its interface is there: that goes with it."""
        middle = self._ground.prefix(self._names.middle)
        prefix_length = ipaddress.ip_network(cidr).prefixlen
        run(("ip", "address", "replace", f"{gateway_of(cidr)}/{prefix_length}", "dev", PUBLIC), prefix=middle)
        rules = nat_rules(self._names.table, inside=PUBLIC, cidr=cidr, forbidden=_machine_addresses())
        run(("nft", "-f", "-"), prefix=middle, given=rules)
        run(("sysctl", "-q", "-w", "net.ipv4.ip_forward=1"), prefix=middle)
        if OUTSIDE not in links(middle):
            holder = (self._directory / "holder").readlink().name
            # No port of either side is opened on the other, and the gateway's address is not the machine's loopback.
            alone = ("--no-map-gw", "-t", "none", "-u", "none", "-T", "none", "-U", "none")
            files = ("-P", str(self._pid_file), "-l", str(self._directory / "pasta.log"))
            run(("pasta", "--config-net", "-4", "-m", "1500", "-I", OUTSIDE, *alone, *files, holder))

    def remove(self) -> bool:
        """Pasta alone: the rest goes with the namespaces."""
        had = False
        for pid in processes():
            with suppress(OSError):
                words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                if words[0].endswith(b"pasta") and str(self._pid_file).encode() in words:
                    os.kill(pid, signal.SIGTERM)
                    had = True
        return had


def nat_rules(table: str, *, inside: str, cidr: str, forbidden: tuple[str, ...] = ()) -> str:
    """The table, whole, in place of what it was: guests reach what is behind this machine, under its address; who is
    there reaches no guest by itself; the machine's own addresses (`forbidden`: those that are not here) are for nobody.

    Pasta tells window sizes by segments without a flag, which belong to no connection: they must not be answered.
    """
    drop = f'iifname "{inside}" ip daddr {{ {", ".join(forbidden)} }} drop' if forbidden else ""
    return f"""
table ip {table}
delete table ip {table}
table ip {table} {{
    chain input {{
        type filter hook input priority filter; policy accept;
        iifname "{OUTSIDE}" ct state invalid drop
        iifname "{inside}" ct state established,related accept
        iifname "{inside}" icmp type echo-request accept
        iifname "{inside}" drop
    }}
    chain forward {{
        type filter hook forward priority filter; policy accept;
        iifname != "{inside}" oifname != "{inside}" accept
        ct state established,related accept
        {drop}
        iifname "{inside}" ip saddr {cidr} accept
        drop
    }}
    chain postrouting {{
        type nat hook postrouting priority srcnat; policy accept;
        iifname "{inside}" oifname != "{inside}" ip saddr {cidr} masquerade
    }}
}}
"""


def _machine_addresses() -> tuple[str, ...]:
    """What the machine itself answers under."""
    found = json.loads(run(("ip", "-json", "-4", "address", "show")) or "[]")
    addresses = {str(each["local"]) for link in found for each in link.get("addr_info", ())}
    return tuple(sorted({*addresses, "127.0.0.0/8"}))
