"""Network interfaces of a server."""

import uuid
from collections.abc import Sequence
from typing import Any

from django.http import HttpResponse

from controlplane.openstack.faults import bad_request, not_found
from servers.instances.actions.interfaces import DETACH_INTERFACE
from servers.instances.selectors.instances import instance_get
from servers.instances.selectors.interfaces import FIXED, Interface, instance_interfaces
from servers.instances.services.act import instance_act
from servers.instances.services.interface_attach import interface_attach
from servers.models import Instance
from servers.networks.selectors.ports import fixed_addresses_of
from servers.openstack.compute.call import ComputeCall, uuid_of
from servers.openstack.compute.schemas.attachments import interface_schema

TAGS_SHOWN_SINCE = 70


def interfaces_list(call: ComputeCall, server_id: str) -> HttpResponse:
    """In the order of its cards."""
    found = _interfaces(_server(call, server_id))
    return call.answer({"interfaceAttachments": _documents(call, found)})


def interface_show(call: ComputeCall, server_id: str, port_id: str) -> HttpResponse:
    """One of them."""
    wanted = uuid_of(port_id, what="Port")
    found = [one for one in _interfaces(_server(call, server_id)) if one.port_id == wanted]
    if not found:
        raise not_found(f"Instance {server_id} does not have a port with id {port_id}.")
    return call.answer({"interfaceAttachment": _documents(call, found)[0]})


def interface_add(call: ComputeCall, server_id: str) -> HttpResponse:
    """A card more: for a port that is there, or for one that is made in a network. Its host is asked now, or when the
    cards and volumes before it are there.
    """
    asked = call.body(interface_schema(call.minor)).get("interfaceAttachment", {})
    if "port_id" in asked and {"net_id", "fixed_ips"} & set(asked):
        raise bad_request("Must not input both port_id and net_id or fixed_ips: the port has them.")
    if "fixed_ips" in asked and "net_id" not in asked:
        raise bad_request("Must input network_id when request IP address")
    arguments = {
        "network": asked.get("net_id", ""),
        "port": asked.get("port_id", ""),
        "fixed_ip": asked["fixed_ips"][0]["ip_address"] if "fixed_ips" in asked else "",
        "tag": asked.get("tag", ""),
    }
    server = _server(call, server_id)
    said = {name: value for name, value in arguments.items() if value}
    changed, port_id = interface_attach(caller=call.caller, instance_id=server.pk, arguments=said)
    made = [one for one in _interfaces(changed) if one.port_id == port_id]
    return call.answer({"interfaceAttachment": _documents(call, made)[0]})


def interface_remove(call: ComputeCall, server_id: str, port_id: str) -> HttpResponse:
    """It is gone when the guest has let go of it."""
    server, wanted = _server(call, server_id), uuid_of(port_id, what="Port")
    if wanted not in {one.port_id for one in _interfaces(server)}:
        raise not_found(f"Instance {server_id} does not have a port with id {port_id}.")
    instance_act(
        caller=call.caller, instance_id=server.pk, action=DETACH_INTERFACE.name, arguments={"port": str(wanted)}
    )
    return call.empty(status=202)


def _server(call: ComputeCall, server_id: str) -> Instance:
    return instance_get(caller=call.caller, instance_id=uuid_of(server_id, what="Instance"))


def _interfaces(server: Instance) -> Sequence[Interface]:
    return instance_interfaces([server]).get(server.pk, ())


def _documents(call: ComputeCall, found: Sequence[Interface]) -> list[dict[str, Any]]:
    """Addresses that a hypervisor's own network gave are of no subnet that anybody here knows."""
    subnets = fixed_addresses_of([one.port_id for one in found])
    return [_document(call, one, {address: pk for pk, address in subnets.get(one.port_id, ())}) for one in found]


def _document(call: ComputeCall, one: Interface, subnet_of: dict[str, uuid.UUID]) -> dict[str, Any]:
    shown = {
        "port_id": str(one.port_id),
        "net_id": str(one.network_id) if one.network_id else None,
        "mac_addr": one.mac,
        "port_state": one.status.upper(),
        "fixed_ips": [
            {
                "ip_address": each.address,
                "subnet_id": str(subnet_of[each.address]) if each.address in subnet_of else None,
            }
            for each in one.addresses
            if each.kind == FIXED
        ],
    }
    return {**shown, "tag": one.tag or None} if call.minor >= TAGS_SHOWN_SINCE else shown
