"""Networks."""

from collections.abc import Sequence

from django.db.models import Q

from computeagent.protocol.networks import NetworkBackendKind
from controlplane.openstack.answers import Empty, JsonAnswer
from servers.models import Network, Subnet
from servers.networks.selectors.networks import FOR_ALL, network_get, networks_visible
from servers.networks.services.networks import network_create, network_delete, network_update
from servers.openstack.network.bodies import network_changes, network_request
from servers.openstack.network.call import Document, NetworkCall, id_in_path
from servers.openstack.network.listing import BY_TAGS, Condition, Listing, flags, ids, listed, numbers, texts
from servers.openstack.network.network_json import network_json
from servers.openstack.network.schemas import NETWORK_CHANGE, NETWORK_CREATE
from servers.openstack.network.shapes import NetworkShown, NetworksShown, NewNetworkShown, NewNetworksShown

_TYPES = {
    "flat": ~Q(physical_network=""),
    "vxlan": Q(physical_network="", kind=NetworkBackendKind.BRIDGE.value),
    "geneve": Q(physical_network="", kind=NetworkBackendKind.OVN.value),
    "local": Q(kind=NetworkBackendKind.HYPERVISOR.value),
}


def _of_types(values: Sequence[str]) -> Q:
    found = Q(pk__in=[])
    for value in values:
        found |= _TYPES.get(value, Q(pk__in=[]))
    return found


def _with_subnets(values: Sequence[str]) -> Q:
    return Q(pk__in=Subnet.objects.filter(ids("pk")(values)).values("network_id"))


_FILTERS: dict[str, Condition] = {
    **BY_TAGS,
    "id": ids("pk"),
    "name": texts("name"),
    "description": texts("description"),
    "project_id": ids("project_id"),
    "tenant_id": ids("project_id"),
    "status": lambda values: Q() if "ACTIVE" in values else Q(pk__in=[]),
    "admin_state_up": flags("is_enabled"),
    "shared": flags(FOR_ALL),
    "router:external": flags("is_external"),
    "port_security_enabled": flags("has_port_security"),
    "mtu": numbers("mtu"),
    "subnets": _with_subnets,
    "provider:network_type": _of_types,
    "provider:physical_network": texts("physical_network"),
    "provider:segmentation_id": numbers("segment"),
}
LISTING: Listing[Network] = Listing(
    "networks",
    "networks",
    _FILTERS,
    {
        "id": "pk",
        "name": "name",
        "mtu": "mtu",
        "admin_state_up": "is_enabled",
        "created_at": "created_at",
        "updated_at": "updated_at",
    },
    frozenset({"provider:network_type", "provider:physical_network", "provider:segmentation_id"}),
)


def networks_list(call: NetworkCall) -> JsonAnswer[NetworksShown]:
    """Own networks, shared and external ones; all for administrators."""
    rows = networks_visible(call.caller).prefetch_related("subnets")
    page = listed(call, LISTING, rows, lambda found: [network_json(call.caller, row) for row in found])
    content: NetworksShown = {"networks": page.shown}
    if page.links:
        content["networks_links"] = page.links
    return call.answer(content)


def network_add(call: NetworkCall) -> JsonAnswer[NewNetworkShown | NewNetworksShown]:
    """A new network, or several."""

    def make(asked: Sequence[Document]) -> list[Network]:
        requests = [network_request(each, call.project_of(each)) for each in asked]
        return [network_create(caller=call.caller, request=request) for request in requests]

    things = call.created(NETWORK_CREATE, make, lambda made: [network_json(call.caller, row) for row in made])
    if things.is_many:
        return call.answer({"networks": things.shown}, status=201)
    return call.answer({"network": things.shown[0]}, status=201)


def network_show(call: NetworkCall, network_id: str) -> JsonAnswer[NetworkShown]:
    """One network."""
    row = network_get(caller=call.caller, network_id=id_in_path(network_id, "NetworkNotFound", "Network"))
    return call.answer({"network": call.chosen(network_json(call.caller, row))})


def network_change(call: NetworkCall, network_id: str) -> JsonAnswer[NetworkShown]:
    """What is left out stays."""
    row = network_update(
        caller=call.caller,
        network_id=id_in_path(network_id, "NetworkNotFound", "Network"),
        changes=network_changes(call.body(NETWORK_CHANGE)["network"]),
    )
    return call.answer({"network": call.chosen(network_json(call.caller, row))})


def network_remove(call: NetworkCall, network_id: str) -> Empty:
    """Gone with its subnets, if nothing is in it any more."""
    network_delete(caller=call.caller, network_id=id_in_path(network_id, "NetworkNotFound", "Network"))
    return call.empty()
