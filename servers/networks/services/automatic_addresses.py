"""Addresses that follow from MAC addresses: guests make them of the prefix that is advertised (Neutron's rules).

Each port of a guest has one of each such subnet of its network, whatever else it asks for. Nobody chooses them, and
nobody but a router has another one there.
"""

import ipaddress
from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any

from django.db.models import QuerySet

from controlplane.kernel.macs import eui64
from servers.models import IPAllocation, Port, Subnet
from servers.networks.domain.addresses import address_key, address_number
from servers.networks.domain.names import PortOwner
from servers.networks.services.port_locks import ports_lock

WITHOUT = (PortOwner.ROUTER_INTERFACE.value, PortOwner.FLOATING_IP.value)
"""Ports that have the addresses that they are made for, and no others."""


def automatic_address(subnet: Subnet, mac: str) -> str:
    """The address of a card in a subnet."""
    return str(eui64(ipaddress.IPv6Network(subnet.cidr), mac))


def automatic_addresses_of(port: Port, subnets: Collection[Subnet]) -> list[IPAllocation]:
    """Rows, not yet written, of those that the port is to have of these subnets of its network."""
    if port.owner in WITHOUT:
        return []
    return [_row(port, subnet) for subnet in subnets if subnet.is_automatic]


def _row(port: Port, subnet: Subnet) -> IPAllocation:
    address = automatic_address(subnet, port.mac)
    key = address_key(address_number(address))
    return IPAllocation(network_id=subnet.network_id, subnet=subnet, port=port, address=address, address_key=key)


def automatic_addresses_give(subnet: Subnet) -> None:
    """Let the ports that are there have their addresses of a new subnet, whose network is locked."""
    ports = _locked(Port.objects.filter(network=subnet.network_id).exclude(owner__in=WITHOUT).values_list("pk"))
    IPAllocation.objects.bulk_create(_row(port, subnet) for port in ports)
    _shown_again(ports)


def automatic_addresses_take(subnet: Subnet) -> None:
    """Take them away again; those of routers stay."""
    rows = IPAllocation.objects.filter(subnet=subnet).exclude(port__owner__in=WITHOUT)
    ports = _locked(rows.values_list("port"))
    rows.filter(port__in=ports).delete()
    _shown_again(ports)


def automatic_addresses_renew(port: Port) -> list[str]:
    """Those that the port, which is locked, has of another MAC address become those of its own. Returns all it has."""
    rows = list(IPAllocation.objects.filter(port=port).select_related("subnet").order_by("pk"))
    if port.owner not in WITHOUT:
        for row in rows:
            if row.subnet.is_automatic:
                row.address = automatic_address(row.subnet, port.mac)
                row.address_key = address_key(address_number(row.address))
        IPAllocation.objects.bulk_update(rows, ["address", "address_key"])
    return [row.address for row in rows]


def _locked(ids: QuerySet[Any, Any]) -> list[Port]:
    return list(Port.objects.filter(pk__in=ports_lock(Port.objects.filter(pk__in=ids))))


def _shown_again(ports: Sequence[Port]) -> None:
    """What the rows of ports show of their addresses is as they have them."""
    addresses: dict[object, list[str]] = defaultdict(list)
    rows = IPAllocation.objects.filter(port__in=ports).order_by("pk")
    for port_id, address in rows.values_list("port_id", "address"):
        addresses[port_id].append(address)
    for port in ports:
        port.addresses = addresses[port.pk]
    Port.objects.bulk_update(ports, ["addresses"], batch_size=500)
