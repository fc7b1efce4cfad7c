"""Subnets."""

from collections.abc import Sequence
from uuid import UUID

from django.db.models import Q

from computeagent.protocol.networks import Ipv6Mode
from controlplane.openstack.answers import Empty, JsonAnswer
from servers.models import Subnet
from servers.networks.selectors.networks import network_get
from servers.networks.selectors.subnets import subnet_get, subnets_visible
from servers.networks.services.subnets import subnet_create, subnet_delete, subnet_update
from servers.openstack.network.bodies import subnet_changes, subnet_request
from servers.openstack.network.call import Document, NetworkCall, id_in_path
from servers.openstack.network.faults import invalid_input
from servers.openstack.network.listing import BY_TAGS, Condition, Listing, addresses, flags, ids, listed, numbers, texts
from servers.openstack.network.network_json import subnet_json
from servers.openstack.network.schemas import SUBNET_CHANGE, SUBNET_CREATE
from servers.openstack.network.shapes import NewSubnetShown, NewSubnetsShown, SubnetShown, SubnetsShown


def _in_mode(values: Sequence[str]) -> Q:
    """As `ipv6_mode_of` says."""
    modes = [*values, ""] if Ipv6Mode.STATEFUL in values else values
    return Q(ip_version=6, has_dhcp=True, ipv6_mode__in=modes)


_FILTERS: dict[str, Condition] = {
    **BY_TAGS,
    "id": ids("pk"),
    "name": texts("name"),
    "description": texts("description"),
    "project_id": ids("project_id"),
    "tenant_id": ids("project_id"),
    "network_id": ids("network_id"),
    "ip_version": numbers("ip_version"),
    "cidr": texts("cidr"),
    "gateway_ip": addresses("gateway"),
    "enable_dhcp": flags("has_dhcp"),
    "ipv6_ra_mode": _in_mode,
    "ipv6_address_mode": _in_mode,
    "router:external": flags("network__is_external"),
}
LISTING: Listing[Subnet] = Listing(
    "subnets",
    "subnets",
    _FILTERS,
    {
        "id": "pk",
        "name": "name",
        "network_id": "network_id",
        "cidr": "cidr",
        "ip_version": "ip_version",
        "enable_dhcp": "has_dhcp",
        "created_at": "created_at",
        "updated_at": "updated_at",
    },
)


def subnets_list(call: NetworkCall) -> JsonAnswer[SubnetsShown]:
    """Those of own networks and of shared ones; all for administrators."""
    page = listed(call, LISTING, subnets_visible(call.caller), lambda found: [subnet_json(row) for row in found])
    content: SubnetsShown = {"subnets": page.shown}
    if page.links:
        content["subnets_links"] = page.links
    return call.answer(content)


def subnet_add(call: NetworkCall) -> JsonAnswer[NewSubnetShown | NewSubnetsShown]:
    """A new subnet, or several."""

    def make(asked: Sequence[Document]) -> list[Subnet]:
        requests = [subnet_request(each) for each in asked]
        for each, request in zip(asked, requests, strict=True):
            _owner_must_be(call, each, request.network_id)
        return [subnet_create(caller=call.caller, request=request) for request in requests]

    things = call.created(SUBNET_CREATE, make, lambda made: [subnet_json(row) for row in made])
    if things.is_many:
        return call.answer({"subnets": things.shown}, status=201)
    return call.answer({"subnet": things.shown[0]}, status=201)


def _owner_must_be(call: NetworkCall, asked: Document, network_id: UUID) -> None:
    """A project that is named is the network's. Raises Fault 400."""
    if asked.get("project_id") or asked.get("tenant_id"):
        owner = network_get(caller=call.caller, network_id=network_id).project_id
        if call.project_of(asked) != owner:
            raise invalid_input("project_id", "A subnet is of the project that its network is of.")


def subnet_show(call: NetworkCall, subnet_id: str) -> JsonAnswer[SubnetShown]:
    """One subnet."""
    row = subnet_get(caller=call.caller, subnet_id=id_in_path(subnet_id, "SubnetNotFound", "Subnet"))
    return call.answer({"subnet": call.chosen(subnet_json(row))})


def subnet_change(call: NetworkCall, subnet_id: str) -> JsonAnswer[SubnetShown]:
    """What is left out stays."""
    row = subnet_update(
        caller=call.caller,
        subnet_id=id_in_path(subnet_id, "SubnetNotFound", "Subnet"),
        changes=subnet_changes(call.body(SUBNET_CHANGE)["subnet"]),
    )
    return call.answer({"subnet": call.chosen(subnet_json(row))})


def subnet_remove(call: NetworkCall, subnet_id: str) -> Empty:
    """Gone, if no port has an address of it."""
    subnet_delete(caller=call.caller, subnet_id=id_in_path(subnet_id, "SubnetNotFound", "Subnet"))
    return call.empty()
