"""A guest's port: one switch port."""

import ipaddress
import re
from collections.abc import Mapping

from computeagent.protocol.networks import HostPort, NetworkSpec, SubnetSpec
from servers.networks.ovn.objects.groups import FORBID_PRIORITY
from servers.networks.ovn.objects.networks import METADATA, answers_dhcp
from servers.networks.ovn.objects.row import DROP, Columns, NorthboundRow, dhcp_key, group_key, network_key, port_key
from servers.networks.ovn.objects.state import OvnPort

HOSTNAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")


def port_rows(wanted: OvnPort, networks: Mapping[str, NetworkSpec]) -> list[NorthboundRow]:
    """The port, by its own id as name: that is what a chassis plugs (`iface-id`)."""
    port = wanted.port
    network = networks.get(port.network_id)
    subnets = {subnet.id: subnet for subnet in network.subnets} if network is not None else {}
    own = " ".join([port.mac, *(each.address for each in port.addresses)])
    options = {"requested-chassis": wanted.host} if wanted.host else {}
    # It becomes part of a rule of OVN's, so nothing but a host name may stand in it.
    if HOSTNAME.fullmatch(port.hostname):
        options["hostname"] = f'"{port.hostname}"'
    columns: Columns = {
        "name": port.id,
        "type": "",
        # `unknown`: it also receives what is for nobody that OVN knows of.
        "addresses": (own, *_other_macs(port)) if port.has_security else (own, "unknown"),
        "port_security": _allowed(port, own) if port.has_security else (),
        "enabled": (port.is_enabled,),
        "options": options,
    }
    groups = (DROP, *(group_key(group) for group in port.group_ids)) if port.has_security else ()
    return [
        NorthboundRow(
            "Logical_Switch_Port",
            port_key(port.id),
            port_key(port.id),
            columns,
            parent=network_key(port.network_id),
            column="ports",
            references=_dhcp_of(port, subnets),
            groups=groups,
        ),
        *_own_metadata_alone(port, subnets),
    ]


def _own_metadata_alone(port: HostPort, subnets: Mapping[str, SubnetSpec]) -> list[NorthboundRow]:
    """The metadata service knows a guest by its address. Who may send from others' as well asks from its own alone."""
    if port.has_security and all(":" in pair.address for pair in port.allowed_pairs):
        return []
    services = sorted({METADATA, *(each.metadata_address for each in subnets.values() if each.metadata_address)})
    match = f'inport == "{port.id}" && ip4.dst == {{{", ".join(services)}}}'
    if own := sorted(each.address for each in port.addresses if ":" not in each.address):
        match += f" && !(ip4.src == {{{', '.join(own)}}})"
    columns: Columns = {"direction": "from-lport", "priority": FORBID_PRIORITY, "match": match, "action": "drop"}
    parent = network_key(port.network_id)
    return [NorthboundRow("ACL", f"acl:metadata:{port.id}", port_key(port.id), columns, parent=parent, column="acls")]


def _dhcp_of(port: HostPort, subnets: Mapping[str, SubnetSpec]) -> dict[str, str]:
    """Of each IP version the first subnet with DHCP that the port has an address of, those with leases first."""
    found: dict[str, str] = {"dhcpv4_options": "", "dhcpv6_options": ""}
    known = [each for each in port.addresses if each.subnet_id in subnets]
    for each in sorted(known, key=lambda each: not subnets[each.subnet_id].has_leases):
        subnet = subnets[each.subnet_id]
        column = f"dhcpv{ipaddress.ip_address(each.address).version}_options"
        if answers_dhcp(subnet) and not found[column]:
            found[column] = dhcp_key(subnet.id)
    return found


def _allowed(port: HostPort, own: str) -> tuple[str, ...]:
    """What it may send from: its own addresses, and those of its pairs with the MAC address that each names."""
    by_mac: dict[str, list[str]] = {port.mac: own.split(" ")[1:]}
    for pair in port.allowed_pairs:
        by_mac.setdefault(pair.mac or port.mac, []).append(pair.address)
    return tuple(" ".join([mac, *addresses]) for mac, addresses in by_mac.items())


def _other_macs(port: HostPort) -> tuple[str, ...]:
    """MAC addresses that it also receives for."""
    return tuple(dict.fromkeys(pair.mac for pair in port.allowed_pairs if pair.mac not in ("", port.mac)))
