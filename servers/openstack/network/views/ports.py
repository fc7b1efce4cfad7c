"""Ports."""

from collections.abc import Sequence

from django.db.models import Q

from controlplane.kernel.ids import parse_uuid
from controlplane.kernel.macs import mac_canonical, mac_reasons
from controlplane.openstack.answers import Empty, JsonAnswer
from servers.models import FloatingIP, IPAllocation, Port, PortGroup
from servers.networks.selectors.ports import in_status, port_get, ports_shown
from servers.networks.services.port_changes import port_delete, port_update
from servers.networks.services.ports import ports_create
from servers.openstack.network.bodies import port_changes, port_request
from servers.openstack.network.call import Document, NetworkCall, id_in_path
from servers.openstack.network.listing import BY_TAGS, Condition, Listing, addresses, flags, ids, listed, texts
from servers.openstack.network.network_json import ports_json
from servers.openstack.network.schemas import PORT_CHANGE, PORT_CREATE
from servers.openstack.network.shapes import NewPortShown, NewPortsShown, PortShown, PortsShown


def _with_addresses(values: Sequence[str]) -> Q:
    """`ip_address=A`, `subnet_id=S`, `ip_address_substr=T`: as in Neutron, all addresses that are named are one list,
    and all subnets another.
    """
    asked: dict[str, list[str]] = {"ip_address": [], "subnet_id": [], "ip_address_substr": []}
    for value in values:
        name, _, text = value.partition("=")
        if name not in asked or not text:
            raise ValueError(f"{value:.80} is not ip_address=A, subnet_id=S or ip_address_substr=T.")
        asked[name].append(text)
    rows = IPAllocation.objects.all()
    if asked["ip_address"]:
        rows = rows.filter(addresses("address")(asked["ip_address"]))
    if asked["subnet_id"]:
        rows = rows.filter(ids("subnet_id")(asked["subnet_id"]))
    for part in asked["ip_address_substr"]:
        rows = rows.filter(address__contains=part)
    return Q(pk__in=rows.values("port_id"))


def _of_devices(values: Sequence[str]) -> Q:
    known = [one for one in map(parse_uuid, values) if one]
    floating = FloatingIP.objects.filter(pk__in=known).values("address_port_id")
    found = Q(instance_uuid__in=known) | Q(router_id__in=known) | Q(pk__in=floating)
    return found | Q(instance_uuid=None, router=None, owner="") if "" in values else found


def _in_groups(values: Sequence[str]) -> Q:
    return Q(pk__in=PortGroup.objects.filter(ids("group_id")(values)).values("port_id"))


_FILTERS: dict[str, Condition] = {
    **BY_TAGS,
    "id": ids("pk"),
    "name": texts("name"),
    "description": texts("description"),
    "project_id": ids("project_id"),
    "tenant_id": ids("project_id"),
    "network_id": ids("network_id"),
    "mac_address": lambda values: Q(mac__in=[mac_canonical(one) for one in values if not mac_reasons(one)]),
    "fixed_ips": _with_addresses,
    "security_groups": _in_groups,
    "device_id": _of_devices,
    "device_owner": texts("owner"),
    "status": in_status,
    "admin_state_up": flags("is_enabled"),
    "port_security_enabled": flags("has_security"),
    "binding:vnic_type": texts("vnic_type"),
    "binding:host_id": texts("host"),
}
LISTING: Listing[Port] = Listing(
    "ports",
    "ports",
    _FILTERS,
    {
        "id": "pk",
        "name": "name",
        "mac_address": "mac",
        "device_owner": "owner",
        "admin_state_up": "is_enabled",
        "created_at": "created_at",
        "updated_at": "updated_at",
    },
    frozenset({"binding:host_id"}),
)


def ports_list(call: NetworkCall) -> JsonAnswer[PortsShown]:
    """Own ports, and those that others have in own networks; all for administrators."""
    rows = ports_shown(call.caller).select_related("network", "router")
    page = listed(call, LISTING, rows, lambda found: ports_json(call.caller, found))
    content: PortsShown = {"ports": page.shown}
    if page.links:
        content["ports_links"] = page.links
    return call.answer(content)


def port_add(call: NetworkCall) -> JsonAnswer[NewPortShown | NewPortsShown]:
    """A new port, or several in one batch."""

    def make(asked: Sequence[Document]) -> list[Port]:
        requests = [port_request(each, call.project_of(each)) for each in asked]
        made = ports_create(caller=call.caller, requests=requests)
        rows = ports_shown(None).select_related("network", "router").in_bulk([row.pk for row in made])
        return [rows[row.pk] for row in made]

    things = call.created(PORT_CREATE, make, lambda made: ports_json(call.caller, made))
    if things.is_many:
        return call.answer({"ports": things.shown}, status=201)
    return call.answer({"port": things.shown[0]}, status=201)


def port_show(call: NetworkCall, port_id: str) -> JsonAnswer[PortShown]:
    """One port."""
    row = port_get(caller=call.caller, port_id=id_in_path(port_id, "PortNotFound", "Port"))
    return call.answer({"port": call.chosen(ports_json(call.caller, [row])[0])})


def port_change(call: NetworkCall, port_id: str) -> JsonAnswer[PortShown]:
    """What is left out stays."""
    changes = port_changes(call.body(PORT_CHANGE)["port"])
    row = port_update(caller=call.caller, port_id=id_in_path(port_id, "PortNotFound", "Port"), changes=changes)
    shown = ports_json(call.caller, [port_get(caller=None, port_id=row.pk)])
    return call.answer({"port": call.chosen(shown[0])})


def port_remove(call: NetworkCall, port_id: str) -> Empty:
    """Gone, if nothing uses it."""
    port_delete(caller=call.caller, port_id=id_in_path(port_id, "PortNotFound", "Port"))
    return call.empty()
