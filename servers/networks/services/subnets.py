"""Subnets are made, changed and removed here, under the lock of their network."""

import ipaddress
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from computeagent.protocol.networks import HostRoute, Ipv6Mode, NetworkBackendKind
from controlplane.audit_log.recording.audited import audited
from controlplane.identity.domain import Caller
from controlplane.infra.db import in_transaction
from controlplane.kernel.errors import InvalidFields
from controlplane.kernel.texts import phrase as _
from servers.fields import refuse_if
from servers.models import IPAllocation, Network, Port, Subnet
from servers.networks.domain.addresses import address_number
from servers.networks.domain.errors import GatewayIpInUse, OverlappingSubnets, SubnetInUse, SubnetNotFound
from servers.networks.domain.names import PortOwner
from servers.networks.domain.networks import MIN_MTU_IPV6
from servers.networks.domain.ports import address_canonical
from servers.networks.domain.subnets import (
    FIRST_HOST,
    SubnetRequest,
    gateway_default,
    overlapping,
    pools_default,
    route_canonical,
    subnet_problems,
)
from servers.networks.selectors.subnets import subnets_visible
from servers.networks.services.allocation import address_reserve
from servers.networks.services.automatic_addresses import automatic_addresses_give, automatic_addresses_take
from servers.networks.services.changes import networks_changed
from servers.networks.services.networks import network_held
from servers.networks.services.quota import network_quota_check

CHANGEABLE = ("name", "description", "gateway", "has_dhcp", "pools", "dns_servers", "routes")


@audited("subnet.create", Subnet)
def subnet_create(*, caller: Caller | None, request: SubnetRequest) -> Subnet:
    """A new subnet of a network that the caller owns. Ports that are there already get no address of it, unless
    addresses follow from MAC addresses.

    Raises NetworkNotFound, Forbidden, InvalidFields, OverlappingSubnets, QuotaExceeded.
    """
    refuse_if(subnet_problems(request))
    return in_transaction(lambda: _subnet_create(caller, request))


def _subnet_create(caller: Caller | None, request: SubnetRequest) -> Subnet:
    owner = Network.objects.filter(pk=request.network_id).values_list("project_id", flat=True).first()
    network_quota_check(project_id=owner, wanted={"subnets": 1})
    network = network_held(caller=caller, network_id=request.network_id)
    found = ipaddress.ip_network(request.cidr)
    _network_must_take(network, found.version)
    cidr = str(found)
    others = Subnet.objects.filter(network=network).values_list("cidr", flat=True)
    if same := overlapping(cidr, list(others)):
        raise OverlappingSubnets(
            _(
                "{cidr} overlaps with another subnet of network {network}: {same}.",
                cidr=cidr,
                network=network,
                same=", ".join(same),
            ),
            field="cidr",
            overlaps=same,
        )
    gateway = _gateway(request)
    row = Subnet(
        id=request.id,
        network=network,
        project_id=network.project_id,
        name=request.name,
        description=request.description,
        ip_version=found.version,
        cidr=cidr,
        gateway=gateway,
        has_dhcp=request.has_dhcp,
        ipv6_mode=(request.ipv6_mode or Ipv6Mode.STATEFUL.value) if found.version == 6 else "",
        pools=_pools(pools_default(cidr, gateway) if request.pools is None else request.pools),
        dns_servers=[address_canonical(one) for one in request.dns_servers],
        routes=_routes(request.routes),
    )
    _metadata_address_set(row)
    row.save(force_insert=True)
    if row.is_automatic:
        automatic_addresses_give(row)
    networks_changed(networks=[network.pk])
    return row


def _gateway(request: SubnetRequest) -> str | None:
    """Of a request without mistakes, in canonical form; None where the subnet is to have none."""
    gateway = gateway_default(request.cidr) if request.gateway == FIRST_HOST else request.gateway
    return address_canonical(gateway) if gateway else None


def _network_must_take(network: Network, version: int) -> None:
    if network.kind == NetworkBackendKind.HYPERVISOR:
        reason = _(
            "Network {network} is a name for networks of the hypervisors, which give addresses themselves.",
            network=network,
        )
        raise InvalidFields({"network": [reason]})
    if version == 6 and network.mtu < MIN_MTU_IPV6:
        reason = _(
            "The MTU of network {network} is {mtu}; IPv6 needs at least {min_mtu_ipv6}.",
            network=network,
            mtu=network.mtu,
            min_mtu_ipv6=MIN_MTU_IPV6,
        )
        raise InvalidFields({"cidr": [reason]})


def _pools(pools: Sequence[Sequence[str]]) -> list[list[str]]:
    canonical = [[address_canonical(first), address_canonical(last)] for first, last in pools]
    return sorted(canonical, key=lambda pool: address_number(pool[0]))


def _routes(routes: Sequence[HostRoute]) -> list[dict[str, str]]:
    canonical = [route_canonical(route) for route in routes]
    return [{"destination": route.destination, "nexthop": route.nexthop} for route in canonical]


def _metadata_address_set(row: Subnet) -> None:
    """DHCP and metadata service of an IPv4 subnet answer at an address of their own, as in Neutron. Where the pools
    have one free address or none, it is left to the guests.
    """
    if not row.has_dhcp or row.ip_version != 4:
        row.metadata_address = None
    elif row.metadata_address is None:
        row.metadata_address = address_reserve(row)


@audited("subnet.update", Subnet, by="subnet_id")
def subnet_update(*, caller: Caller | None, subnet_id: uuid.UUID, changes: Mapping[str, Any]) -> Subnet:
    """Change some of CHANGEABLE; what is left out stays. Addresses that ports have, they keep, also outside of pools.

    Raises SubnetNotFound, Forbidden, InvalidFields, GatewayIpInUse.
    """
    if unknown := {name: [_("Cannot be changed.")] for name in changes if name not in CHANGEABLE}:
        raise InvalidFields(unknown)
    return in_transaction(lambda: _subnet_update(caller, subnet_id, changes))


def _subnet_update(caller: Caller | None, subnet_id: uuid.UUID, changes: Mapping[str, Any]) -> Subnet:
    row = _subnet_held(caller, subnet_id)
    pools = changes.get("pools", [(first, last) for first, last in row.pools])
    own_routes = [HostRoute(each["destination"], each["nexthop"]) for each in row.routes]
    wanted = SubnetRequest(
        network_id=row.network_id,
        cidr=row.cidr,
        name=changes.get("name", row.name),
        description=changes.get("description", row.description),
        gateway=changes.get("gateway", row.gateway),
        has_dhcp=changes.get("has_dhcp", row.has_dhcp),
        ipv6_mode=row.ipv6_mode,
        pools=None if pools is None else tuple(pools),
        dns_servers=tuple(changes.get("dns_servers", row.dns_servers)),
        routes=tuple(changes.get("routes", own_routes)),
    )
    refuse_if(subnet_problems(wanted))
    gateway = _gateway(wanted)
    if gateway != row.gateway:
        _gateway_must_be_free(row, gateway)
    row.name, row.description, row.gateway, row.has_dhcp = wanted.name, wanted.description, gateway, wanted.has_dhcp
    row.pools = _pools(pools_default(row.cidr, gateway) if wanted.pools is None else wanted.pools)
    row.dns_servers = [address_canonical(one) for one in wanted.dns_servers]
    row.routes = _routes(wanted.routes)
    _metadata_address_set(row)
    row.save()
    networks_changed(networks=[row.network_id])
    return row


def _gateway_must_be_free(row: Subnet, gateway: str | None) -> None:
    """Of the gateway that goes no router has the address; the one that comes is not that of DHCP."""
    of_routers = Port.objects.filter(
        owner=PortOwner.ROUTER_INTERFACE, allocations__subnet=row, allocations__address=row.gateway
    )
    if row.gateway and of_routers.exists():
        raise GatewayIpInUse(
            _("A router has the gateway {gateway}: take it out of the subnet first.", gateway=row.gateway),
            field="gateway",
        )
    if gateway and gateway == row.metadata_address:
        reason = _("{gateway} is where DHCP and the metadata service of the subnet answer.", gateway=gateway)
        raise InvalidFields({"gateway": [reason]})


def _subnet_held(caller: Caller | None, subnet_id: uuid.UUID) -> Subnet:
    """The subnet, with the locks of its network and of its own row, which who allocates takes, too."""
    network_id = subnets_visible(caller).filter(pk=subnet_id).values_list("network_id", flat=True).first()
    row = None
    if network_id is not None:
        network_held(caller=caller, network_id=network_id)
        row = Subnet.objects.select_for_update().filter(pk=subnet_id).first()
    if row is None:
        raise SubnetNotFound(_("Subnet {subnet_id} does not exist.", subnet_id=subnet_id))
    return row


@audited("subnet.delete", Subnet, by="subnet_id")
def subnet_delete(*, caller: Caller | None, subnet_id: uuid.UUID) -> None:
    """Delete a subnet that no port has an address of, but for such as follow from MAC addresses.

    Raises SubnetNotFound, Forbidden, SubnetInUse.
    """
    in_transaction(lambda: _subnet_delete(caller, subnet_id))


def _subnet_delete(caller: Caller | None, subnet_id: uuid.UUID) -> None:
    row = _subnet_held(caller, subnet_id)
    if row.is_automatic:
        automatic_addresses_take(row)
    count = IPAllocation.objects.filter(subnet=row).count()
    if count:
        raise SubnetInUse(_("Ports have {count} addresses of subnet {row}.", count=count, row=row), addresses=count)
    row.delete()
    networks_changed(networks=[row.network_id])
