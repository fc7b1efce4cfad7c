"""Named network namespaces and the links, addresses and routes in them."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from ipaddress import IPv6Interface, ip_interface, ip_network
from pathlib import Path

from computeagent.networks.bridge.commands import BatchLine, Commands
from computeagent.networks.bridge.dhcp_server import dhcp_end
from computeagent.networks.bridge.plan import Interface

ROUTE_PROTOCOL = "75"
"""By which routes are known as made here."""


@dataclass(frozen=True, slots=True)
class InnerLink:
    """A link in a namespace, with its addresses."""

    name: str
    mtu: int
    addresses: tuple[Interface, ...]


def namespaces_there(commands: Commands, ours: re.Pattern[str]) -> set[str]:
    """The names of those that are ours. Raises NetworkError."""
    names = {line.split()[0] for line in commands.run(("ip", "netns", "list")).splitlines() if line.strip()}
    return {name for name in names if ours.fullmatch(name)}


def namespace_add(commands: Commands, name: str, links: Collection[str], files: Path) -> None:
    """A new one. Raises NetworkError."""
    namespace_lost_remove(commands, links, files)
    commands.run(("ip", "netns", "add", name))


def namespace_lost_remove(commands: Commands, links: Collection[str], files: Path) -> None:
    """One that lost its name goes: its links, which may be gone already, and the DHCP server that keeps it.

    Raises NetworkError.
    """
    dhcp_end(files)
    commands.ip_batch([BatchLine(f"link delete dev {link}") for link in links])


def namespace_remove(commands: Commands, name: str) -> None:
    """With the links in it; its processes were ended before. Raises NetworkError."""
    commands.run(("ip", "netns", "delete", name))


def inner_lines(
    commands: Commands,
    links: Collection[InnerLink],
    routes: Collection[str],
    kind: str,
    identifier: str,
    *,
    is_new: bool = False,
) -> Iterator[BatchLine]:
    """Lines, for `ip` in the namespace of `commands`, that give these links these addresses and routes, and no others.

    `routes` are as `ip route replace` takes them; `kind` and `identifier` say whose problem it is. In a namespace that
    `is_new` nothing is there. Raises NetworkError.
    """

    def line(text: str) -> BatchLine:
        return BatchLine(text, kind, identifier)

    yield line("link set dev lo up")
    there = {} if is_new else _addresses(commands)
    for link in links:
        has = there.get(link.name, set())
        yield line(f"link set dev {link.name} mtu {link.mtu} up")
        for address in sorted(has - set(link.addresses), key=str):
            yield line(f"address delete {address} dev {link.name}")
        for address in link.addresses:
            if address not in has:
                once = " nodad" if isinstance(address, IPv6Interface) else ""
                yield line(f"address add {address} dev {link.name}{once}")
    wanted = {_canonical(route.split()[0]) for route in routes}
    for family, everything in () if is_new else (("-4", "0.0.0.0/0"), ("-6", "::/0")):
        for each in commands.ip_json(family, "route", "show", "proto", ROUTE_PROTOCOL):
            destination = _canonical(each["dst"].replace("default", everything))
            if destination not in wanted:
                yield line(f"route delete {destination} proto {ROUTE_PROTOCOL}")
    for route in routes:
        yield line(f"route replace {route} proto {ROUTE_PROTOCOL}")


def _addresses(commands: Commands) -> dict[str, set[Interface]]:
    """Those that were given to links, by link."""
    return {
        each["ifname"]: {
            ip_interface(f"{address['local']}/{address['prefixlen']}")
            for address in each.get("addr_info", ())
            if address["scope"] == "global" or address["family"] == "inet"
        }
        for each in commands.ip_json("address", "show")
    }


def _canonical(destination: str) -> str:
    return str(ip_network(destination))
