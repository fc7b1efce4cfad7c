"""Networks, subnets and ports as the Network API shows them."""

import uuid
from collections.abc import Sequence

from computeagent.protocol.networks import NetworkBackendKind, PortStatus
from controlplane.identity.domain import Caller
from servers.models import Network, Port, Subnet
from servers.networks.domain.names import PortOwner
from servers.networks.domain.port_resources import resource_groups
from servers.networks.selectors.floating_ips import floating_ips_held_by
from servers.networks.selectors.networks import is_for_all, shows_subnets
from servers.networks.selectors.ports import port_status
from servers.networks.selectors.subnets import ipv6_mode_of
from servers.openstack.call import whole_seconds
from servers.openstack.network.call import project_json
from servers.openstack.network.shapes import (
    BindingFields,
    FixedIpJson,
    NetworkJson,
    PortJson,
    ProviderFields,
    ResourceFields,
    ResourceGroupJson,
    SubnetJson,
)

_TUNNEL = {NetworkBackendKind.BRIDGE.value: "vxlan", NetworkBackendKind.OVN.value: "geneve"}
_VIF_TYPE = {NetworkBackendKind.BRIDGE.value: "bridge", NetworkBackendKind.OVN.value: "ovs"}


def network_json(caller: Caller, network: Network) -> NetworkJson:
    """A network with the ids of its subnets. What it is below is for administrators to see."""
    return {
        "id": str(network.pk),
        "name": network.name,
        "description": network.description,
        **project_json(network.project_id),
        "tags": network.tags,
        "status": "ACTIVE",
        "admin_state_up": network.is_enabled,
        "shared": is_for_all(network),
        "router:external": network.is_external,
        "mtu": network.mtu,
        "port_security_enabled": network.has_port_security,
        "subnets": [str(row.pk) for row in network.subnets.all()] if shows_subnets(caller, network) else [],
        "created_at": whole_seconds(network.created_at),
        "updated_at": whole_seconds(network.updated_at),
        **_provider_json(caller, network),
    }


def _provider_json(caller: Caller, network: Network) -> ProviderFields:
    if not caller.sees_all:
        return {}
    tunnel = _TUNNEL.get(network.kind, "local")
    return {
        "provider:network_type": "flat" if network.physical_network else tunnel,
        "provider:physical_network": network.physical_network or network.hypervisor_network or None,
        "provider:segmentation_id": network.segment,
    }


def subnet_json(subnet: Subnet) -> SubnetJson:
    """A subnet. Routers here advertise the way in which guests of IPv6 get their addresses: both modes are one."""
    mode = ipv6_mode_of(subnet)
    return {
        "id": str(subnet.pk),
        "name": subnet.name,
        "description": subnet.description,
        **project_json(subnet.project_id),
        "tags": subnet.tags,
        "network_id": str(subnet.network_id),
        "ip_version": subnet.ip_version,
        "cidr": subnet.cidr,
        "gateway_ip": subnet.gateway,
        "enable_dhcp": subnet.has_dhcp,
        "allocation_pools": [{"start": first, "end": last} for first, last in subnet.pools],
        "dns_nameservers": subnet.dns_servers,
        "host_routes": subnet.routes,
        "ipv6_ra_mode": mode,
        "ipv6_address_mode": mode,
        "subnetpool_id": None,
        "created_at": whole_seconds(subnet.created_at),
        "updated_at": whole_seconds(subnet.updated_at),
    }


def ports_json(caller: Caller, ports: Sequence[Port]) -> list[PortJson]:
    """Ports, in one query more where some of them hold floating addresses. Where they are is for administrators."""
    held = [port.pk for port in ports if port.owner == PortOwner.FLOATING_IP]
    floating = floating_ips_held_by(held) if held else {}
    return [_port_json(caller, port, floating.get(port.pk)) for port in ports]


def _port_json(caller: Caller, port: Port, floating_ip_id: uuid.UUID | None) -> PortJson:
    subnets = {row.address: str(row.subnet_id) for row in port.allocations.all()}
    fixed: list[FixedIpJson] = [
        {"subnet_id": subnets[address], "ip_address": address} for address in port.addresses if address in subnets
    ]
    return {
        "id": str(port.pk),
        "name": port.name,
        "description": port.description,
        **project_json(port.project_id),
        "tags": port.tags,
        "network_id": str(port.network_id or ""),
        "mac_address": port.mac,
        "fixed_ips": fixed,
        "security_groups": [str(group.pk) for group in port.groups.all()],
        "allowed_address_pairs": [
            {"ip_address": pair["address"], "mac_address": pair.get("mac") or port.mac} for pair in port.allowed_pairs
        ],
        "port_security_enabled": port.has_security,
        "admin_state_up": port.is_enabled,
        "status": port_status(port),
        "device_id": str(port.instance_uuid or port.router_id or floating_ip_id or ""),
        "device_owner": port.owner,
        "binding:vnic_type": port.vnic_type,
        "created_at": whole_seconds(port.created_at),
        "updated_at": whole_seconds(port.updated_at),
        **_binding_json(caller, port),
        **_resources_json(caller, port),
    }


def _resources_json(caller: Caller, port: Port) -> ResourceFields:
    """Null where it asks for nothing. Providers of its groups may be anywhere in the host's tree, so that none of them
    is named in `same_subtree`.
    """
    if not caller.sees_all:
        return {}
    groups: list[ResourceGroupJson] = [
        {
            "id": str(uuid.uuid5(port.pk, group.name)),
            "required": list(group.required),
            "resources": dict(group.resources),
        }
        for group in resource_groups(port.resource_request)
    ]
    return {"resource_request": {"request_groups": groups, "same_subtree": []} if groups else None}


def _binding_json(caller: Caller, port: Port) -> BindingFields:
    if not caller.sees_all:
        return {}
    kind = port.network.kind if port.network else ""
    failed = port.status == PortStatus.ERROR.value
    plugged = "binding_failed" if failed else _VIF_TYPE.get(kind, "other")
    return {"binding:host_id": port.host, "binding:vif_type": plugged if port.host else "unbound"}
