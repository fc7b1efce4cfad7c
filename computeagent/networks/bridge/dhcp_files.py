"""What dnsmasq reads of a network: a process in its service namespace gives this host's ports their addresses.

IPv4: DHCP with the subnet's gateway, name servers, MTU and routes. IPv6: router advertisements that make nobody a
router and say "ask for your address" or "make one of this prefix", and DHCPv6. Nothing else is served: no names, no
files.
"""

from collections.abc import Collection, Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address

from computeagent.networks.bridge.checked import CheckedNetwork, CheckedPort, CheckedSubnet
from computeagent.networks.bridge.names import METADATA_ADDRESS, SERVICE_LINK
from computeagent.networks.bridge.plan import DhcpFiles
from computeagent.protocol.networks import Ipv6Mode

LEASE = "24h"
DEFAULT = "0.0.0.0/0"
RANGES = {Ipv6Mode.STATEFUL: "static", Ipv6Mode.STATELESS: "ra-stateless", Ipv6Mode.SLAAC: "ra-only"}
"""What dnsmasq calls them, in answers and advertisements alike."""
HOSTS_FILE, LEASES_FILE, PID_FILE, CONFIGURATION_FILE = "hosts", "leases", "pid", "dnsmasq.conf"


def dhcp_files(network: CheckedNetwork, ports: Collection[CheckedPort], directory: str) -> DhcpFiles | None:
    """The files for a network's ports here, which are to be in `directory`; None where no subnet has DHCP."""
    served = {id_: subnet for id_, subnet in network.subnets.items() if subnet.has_dhcp}
    if not served:
        return None
    lines = [
        "port=0",
        "bind-interfaces",
        f"interface={SERVICE_LINK}",
        "except-interface=lo",
        "no-hosts",
        "no-resolv",
        "no-ping",
        "dhcp-authoritative",
        "leasefile-ro" if not directory else f"dhcp-leasefile={directory}/{LEASES_FILE}",
        f"dhcp-hostsfile={directory}/{HOSTS_FILE}",
        f"pid-file={directory}/{PID_FILE}",
        "log-facility=/dev/null",
        "quiet-dhcp",
        "quiet-dhcp6",
        "quiet-ra",
        "dhcp-lease-max=100000",
    ]
    for number, subnet in enumerate(served.values()):
        lines += (
            _range4(subnet, f"s{number}", network.mtu) if subnet.cidr.version == 4 else _range6(subnet, f"s{number}")
        )
    if any(subnet.cidr.version == 6 for subnet in served.values()):
        lines += ["enable-ra", f"ra-param={SERVICE_LINK},mtu:{network.mtu},60,0"]
    # Where guests make their own addresses there is none to give.
    leased = {id_ for id_, subnet in served.items() if subnet.ipv6_mode is Ipv6Mode.STATEFUL}
    hosts, owners = [], {}
    for port in sorted(ports, key=lambda each: each.id):
        advised = [address for subnet_id, address in port.addresses if subnet_id in leased]
        four = [str(address) for address in advised if address.version == 4]
        six = [f"[{address}]" for address in advised if address.version == 6]
        if not advised or not port.is_enabled:
            continue
        # One card gets one address by DHCP: its first. The others are for the guest's own configuration.
        name = [port.hostname] if port.hostname else []
        hosts.append(",".join([port.mac, *four[:1], *six, *name]))
        owners.update({str(address): port.mac for address in advised})
    return DhcpFiles("\n".join(lines) + "\n", "".join(f"{line}\n" for line in hosts), owners)


def _range4(subnet: CheckedSubnet, tag: str, mtu: int) -> list[str]:
    """Options 26 (MTU) and 121 (routes) go to clients that do not ask for them, too."""
    cidr = subnet.cidr
    assert isinstance(cidr, IPv4Network)  # noqa: S101 - the caller asked for the version
    lines = [
        f"shared-network={SERVICE_LINK},{cidr.network_address}",
        f"dhcp-range=set:{tag},{cidr.network_address},static,{cidr.netmask},{LEASE}",
        f"dhcp-option=tag:{tag},option:router" + (f",{subnet.gateway}" if subnet.gateway else ""),
        f"dhcp-option=tag:{tag},option:dns-server" + _listed(each for each in subnet.dns_servers if each.version == 4),
        f"dhcp-option-force=tag:{tag},option:mtu,{mtu}",
    ]
    routes = [(str(destination), str(nexthop)) for destination, nexthop in subnet.routes]
    if subnet.gateway is None:
        # Next hop 0.0.0.0: on the link, where the service namespace answers for it (RFC 3442).
        routes.append((f"{METADATA_ADDRESS}/32", "0.0.0.0"))  # noqa: S104 - a next hop
    elif routes and not any(destination == DEFAULT for destination, _ in routes):
        routes.append((DEFAULT, str(subnet.gateway)))  # who gets option 121 ignores option 3
    if routes:
        lines.append(f"dhcp-option-force=tag:{tag},121" + "".join(f",{to},{via}" for to, via in routes))
    return lines


def _range6(subnet: CheckedSubnet, tag: str) -> list[str]:
    servers = "".join(f",[{each}]" for each in subnet.dns_servers if each.version == 6)
    return [
        f"dhcp-range=set:{tag},{subnet.cidr.network_address},{RANGES[subnet.ipv6_mode]},{subnet.cidr.prefixlen},{LEASE}",
        f"dhcp-option=tag:{tag},option6:dns-server{servers}",
    ]


def _listed(addresses: Iterable[IPv4Address | IPv6Address]) -> str:
    return "".join(f",{each}" for each in addresses)
