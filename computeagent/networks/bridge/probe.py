"""What a host needs for networks by bridges, asked of the host itself."""

import os
import shutil
from contextlib import suppress

from computeagent.networks.base import NetworkError, NetworkPlace
from computeagent.networks.bridge.commands import Commands
from computeagent.networks.places.commands import environment

PROGRAMS = {
    "ip": "iproute2",
    "bridge": "iproute2",
    "nft": "nftables",
    "nsenter": "util-linux",
    "dnsmasq": "dnsmasq-base",
}
"""What is run, and Debian's package of it."""
# Checked and not made (`nft -c`): connection tracking with zones, sets of several values, address translation.
_RULES = """
table bridge kilonova_probe {
    set guests { type ifname . ether_addr . ipv4_addr; flags interval; }
    chain a { type filter hook forward priority -200; iifname . ether saddr . ip saddr @guests meta mark set 0x1; }
}
table ip kilonova_probe {
    chain a { type filter hook prerouting priority -300; ct zone set 1; }
    chain b { type filter hook forward priority 0; ct direction original ct protocol 6 ct original proto-dst 22 drop; }
    chain c { type nat hook postrouting priority 100; ct status dnat snat to 192.0.2.1; }
}
table ip6 kilonova_probe {
    chain b { type filter hook forward priority 0; ct state invalid drop; }
}
"""


def probe(place: NetworkPlace, commands: Commands) -> None:
    """Raises NetworkError that says what is missing, and where it comes from."""
    path = environment()["PATH"]
    missing = [f"{name} (package {of})" for name, of in PROGRAMS.items() if shutil.which(name, path=path) is None]
    if missing:
        raise NetworkError(f"networks by bridges need programs that this host lacks: {', '.join(missing)}")
    try:
        commands.run(("test", "-e", "/proc/sys/net/bridge/bridge-nf-call-iptables"))
    except NetworkError as error:
        raise NetworkError(
            "this host cannot keep security groups on bridges: its kernel has no br_netfilter loaded "
            "(as root: modprobe br_netfilter, and a line br_netfilter in /etc/modules-load.d/kilonova.conf)"
        ) from error
    try:
        commands.run(("nft", "-c", "-f", "-"), _RULES)
    except NetworkError as error:
        raise NetworkError(f"this host cannot keep security groups: its nftables refuses our rules: {error}") from error
    for network, bridge in place.bridge_mappings.items():
        try:
            commands.run(("ip", "link", "show", "dev", bridge, "type", "bridge"))
        except NetworkError as error:
            raise NetworkError(f"there is no bridge {bridge} for the physical network {network}") from error
    if not place.has_namespaces:
        return
    name = f"{place.namespace_prefix}-probe-{os.getpid()}"
    try:
        commands.run(("ip", "netns", "add", name))
        commands.inside(name).run(("true",))
    except NetworkError as error:
        raise NetworkError(f"this host cannot make network namespaces for DHCP and routers: {error}") from error
    finally:
        with suppress(NetworkError):
            commands.run(("ip", "netns", "delete", name))
