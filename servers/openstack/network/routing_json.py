"""Routers and floating addresses as the Network API shows them."""

from servers.models import FloatingIP, Port, Router
from servers.networks.domain.names import FloatingStatus
from servers.networks.selectors.ports import port_status
from servers.networks.selectors.routers import gateway_of
from servers.openstack.call import whole_seconds
from servers.openstack.network.call import project_json
from servers.openstack.network.shapes_routing import (
    FloatingIpJson,
    GatewayJson,
    InterfaceJson,
    PortDetailsJson,
    RouterJson,
)


def router_json(router: Router) -> RouterJson:
    """A router with its gateway. Its interfaces are ports, which are listed by `device_id`."""
    return {
        "id": str(router.pk),
        "name": router.name,
        "description": router.description,
        **project_json(router.project_id),
        "tags": router.tags,
        "status": "ERROR" if router.problem else "ACTIVE",
        "admin_state_up": router.is_enabled,
        "external_gateway_info": _gateway_json(router),
        "routes": router.routes,
        "created_at": whole_seconds(router.created_at),
        "updated_at": whole_seconds(router.updated_at),
    }


def _gateway_json(router: Router) -> GatewayJson | None:
    port = gateway_of(router)
    if port is None:
        return None
    return {
        "network_id": str(port.network_id),
        "enable_snat": router.has_snat,
        "external_fixed_ips": [
            {"subnet_id": str(row.subnet_id), "ip_address": row.address} for row in port.allocations.all()
        ],
    }


def interface_json(router: Router, port: Port) -> InterfaceJson:
    """What came to a router, or went from it."""
    subnets = [str(row.subnet_id) for row in port.allocations.all()]
    return {
        "id": str(router.pk),
        **project_json(router.project_id),
        "port_id": str(port.pk),
        "network_id": str(port.network_id),
        "subnet_id": subnets[0] if subnets else "",
        "subnet_ids": subnets,
    }


def floating_ip_json(row: FloatingIP) -> FloatingIpJson:
    """A floating address with the port that it stands for. One that its router is yet to get is not up."""
    status = FloatingStatus.DOWN.value if row.status == FloatingStatus.BUILD else row.status
    return {
        "id": str(row.pk),
        "description": row.description,
        **project_json(row.project_id),
        "tags": row.tags,
        "floating_network_id": str(row.network_id),
        "floating_ip_address": row.address,
        "fixed_ip_address": row.fixed_address,
        "port_id": str(row.port_id) if row.port_id else None,
        "router_id": str(row.router_id) if row.router_id else None,
        "status": status,
        "port_details": None if row.port is None else _port_details(row.port),
        "created_at": whole_seconds(row.created_at),
        "updated_at": whole_seconds(row.updated_at),
    }


def _port_details(port: Port) -> PortDetailsJson:
    return {
        "name": port.name,
        "network_id": str(port.network_id),
        "mac_address": port.mac,
        "admin_state_up": port.is_enabled,
        "status": port_status(port),
        "device_id": str(port.instance_uuid or port.router_id or ""),
        "device_owner": port.owner,
    }
