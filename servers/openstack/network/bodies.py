"""Bodies of the Network API, once their schemas took them, as services take them."""

import ipaddress
import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from computeagent.protocol.networks import AddressPair, HostRoute, Ipv6Mode, NetworkBackendKind
from servers.networks.domain.names import VnicType
from servers.networks.domain.networks import NetworkRequest
from servers.networks.domain.ports import AddressRequest, PortRequest
from servers.networks.domain.subnets import SubnetRequest
from servers.openstack.network.call import Document, whole_number
from servers.openstack.network.faults import invalid_input

_KINDS = {"vxlan": NetworkBackendKind.BRIDGE, "geneve": NetworkBackendKind.OVN}
_NETWORK = {
    "name": "name",
    "description": "description",
    "admin_state_up": "is_enabled",
    "shared": "is_shared",
    "router:external": "is_external",
    "port_security_enabled": "has_port_security",
    "mtu": "mtu",
}
_SUBNET = {
    "name": "name",
    "description": "description",
    "gateway_ip": "gateway",
    "enable_dhcp": "has_dhcp",
    "allocation_pools": "pools",
    "dns_nameservers": "dns_servers",
    "host_routes": "routes",
}
_PORT = {
    "name": "name",
    "description": "description",
    "admin_state_up": "is_enabled",
    "mac_address": "mac",
    "fixed_ips": "fixed",
    "security_groups": "group_ids",
    "allowed_address_pairs": "allowed_pairs",
    "port_security_enabled": "has_security",
}


def renamed(asked: Mapping[str, Any], names: Mapping[str, str]) -> Document:
    """What is asked for of these fields, by our names."""
    return {ours: asked[theirs] for theirs, ours in names.items() if theirs in asked}


def network_changes(asked: Mapping[str, Any]) -> Document:
    """As `network_update` takes them."""
    values = renamed(asked, _NETWORK)
    if "mtu" in values:
        values["mtu"] = whole_number(values["mtu"])
    return values


def network_request(asked: Mapping[str, Any], project_id: uuid.UUID) -> NetworkRequest:
    """A new network. A flat one is of the kind that the installation makes. Raises Fault 400."""
    network_type, physical = asked.get("provider:network_type"), asked.get("provider:physical_network") or ""
    if (network_type == "flat") != bool(physical):
        raise invalid_input("provider:physical_network", "It goes with the network type flat, and that with it.")
    kind = _KINDS.get(network_type or "")
    return NetworkRequest(project_id=project_id, kind=kind, physical_network=physical, **network_changes(asked))


def subnet_changes(asked: Mapping[str, Any]) -> Document:
    """As `subnet_update` takes them."""
    values = renamed(asked, _SUBNET)
    if "pools" in values:
        values["pools"] = tuple((pool["start"], pool["end"]) for pool in values["pools"]) or None
    if "dns_servers" in values:
        values["dns_servers"] = tuple(values["dns_servers"])
    if "routes" in values:
        values["routes"] = tuple(HostRoute(route["destination"], route["nexthop"]) for route in values["routes"])
    return values


def subnet_request(asked: Mapping[str, Any]) -> SubnetRequest:
    """A new subnet. Raises Fault 400 for an IP version, or a mode of IPv6, that does not go with the rest."""
    wanted = SubnetRequest(network_id=uuid.UUID(asked["network_id"]), cidr=asked["cidr"], **subnet_changes(asked))
    version = _version_of(wanted.cidr)
    if version and whole_number(asked.get("ip_version", version)) != version:
        raise invalid_input("ip_version", f"{wanted.cidr:.60} is of IPv{version}.")
    return replace(wanted, ipv6_mode=_ipv6_mode(asked, is_six=version == 6 and wanted.has_dhcp))


def _ipv6_mode(asked: Mapping[str, Any], *, is_six: bool) -> str:
    """Neutron has two words: what routers advertise, and how addresses are given. Here routers advertise just that."""
    advertised, given = asked.get("ipv6_ra_mode"), asked.get("ipv6_address_mode")
    for name, mode in (("ipv6_ra_mode", advertised), ("ipv6_address_mode", given)):
        if mode and not is_six:
            raise invalid_input(name, "It is for subnets of IPv6 with DHCP.")
    stateful = Ipv6Mode.STATEFUL.value
    if (advertised or stateful) != (given or stateful):
        raise invalid_input(
            "ipv6_address_mode", "It must be what ipv6_ra_mode is: routers here advertise nothing else."
        )
    return str(given or "")


def _version_of(cidr: str) -> int:
    """0 for what is no range: the service says so."""
    try:
        return ipaddress.ip_network(cidr, strict=False).version
    except ValueError:
        return 0


def port_changes(asked: Mapping[str, Any]) -> Document:
    """As `port_update` takes them."""
    values = renamed(asked, _PORT)
    if "fixed" in values:
        values["fixed"] = tuple(
            AddressRequest(uuid.UUID(each["subnet_id"]) if "subnet_id" in each else None, each.get("ip_address", ""))
            for each in values["fixed"]
        )
    if "group_ids" in values:
        values["group_ids"] = tuple(map(uuid.UUID, values["group_ids"]))
    if "allowed_pairs" in values:
        values["allowed_pairs"] = tuple(
            AddressPair(each["ip_address"], each.get("mac_address", "")) for each in values["allowed_pairs"]
        )
    return values


def port_request(asked: Mapping[str, Any], project_id: uuid.UUID) -> PortRequest:
    """A new port, which the Compute API may give to an instance."""
    return PortRequest(
        network_id=uuid.UUID(asked["network_id"]),
        project_id=project_id,
        vnic_type=VnicType(asked.get("binding:vnic_type", VnicType.NORMAL)),
        **port_changes(asked),
    )
