"""Servers: lists, one of them, a new one, a change, a deletion."""

from typing import Any

from django.http import HttpResponse

from servers.catalog.selectors.server_group import group_ids_of_instance
from servers.instances.domain.guest_config_rules import admin_pass_new
from servers.instances.selectors.instances import instance_get
from servers.instances.services.create import instances_create
from servers.instances.services.delete import instance_delete
from servers.instances.services.update import instance_update
from servers.models import Instance
from servers.openstack.compute.call import ComputeCall, uuid_of
from servers.openstack.compute.create_body import NAMES, create_asked
from servers.openstack.compute.documents.servers import (
    MANUAL,
    changed_server_document,
    server_brief,
    server_document,
    server_documents,
)
from servers.openstack.compute.faults import fields_named, named_in_body
from servers.openstack.compute.lists.servers import ServerPage, servers_asked
from servers.openstack.compute.multiattach import multiattach_require
from servers.openstack.compute.port_resources import port_resources_require
from servers.openstack.compute.schemas.parts import is_yes
from servers.openstack.compute.schemas.servers import server_create_schema, server_update_schema

CHANGES = {"name": "name", "accessIPv4": "access_ip_v4", "accessIPv6": "access_ip_v6", "hostname": "hostname"}
SIZED_BY = "OS-DCF:diskConfig"
CHANGED_NAMES = {ours: key for key, ours in CHANGES.items()} | {"disk_config": SIZED_BY}


def server_found(call: ComputeCall, server_id: str) -> Instance:
    """By the id in a path. Raises NotFound."""
    return instance_get(caller=call.caller, instance_id=uuid_of(server_id, what="Instance"))


def group_ids(call: ComputeCall, server: Instance) -> list[Any]:
    """Its server group, in the versions that show it."""
    return group_ids_of_instance(instance_id=server.pk) if call.minor >= 71 else []


def servers_list(call: ComputeCall) -> HttpResponse:
    """Ids and names."""
    page = servers_asked(call)
    return _listed(call, page, [server_brief(call, one) for one in page.servers], "servers")


def servers_detail(call: ComputeCall) -> HttpResponse:
    """With all that they show."""
    page = servers_asked(call)
    return _listed(call, page, server_documents(call, page.servers), "servers", "detail")


def _listed(call: ComputeCall, page: ServerPage, documents: list[dict[str, Any]], *path: str) -> HttpResponse:
    answer: dict[str, Any] = {"servers": documents}
    if page.has_more and page.servers:
        answer["servers_links"] = call.next_links(page.servers[-1].pk, *path)
    return call.answer(answer)


def server_show(call: ComputeCall, server_id: str) -> HttpResponse:
    """One of them."""
    server = server_found(call, server_id)
    return call.answer({"server": server_document(call, server, group_ids=group_ids(call, server))})


def server_create(call: ComputeCall) -> HttpResponse:
    """Accepts one or several: 202 with the first, or with the id of the reservation alone."""
    body = call.body(server_create_schema(call.minor))
    asked, said = create_asked(body), body["server"]
    disks = said.get("block_device_mapping_v2") or ()
    multiattach_require(call, [one.get("volume_id") or one.get("uuid") or "" for one in disks])
    named = said.get("networks")
    port_resources_require(call, [one.get("port") or "" for one in named] if isinstance(named, list) else ())
    has_disc = asked.config_drive is not False
    if not asked.admin_pass and has_disc:
        # Without a disc nothing brings a password to the guest, and none is said then.
        body["server"]["adminPass"] = admin_pass_new()
        asked = create_asked(body)
    with named_in_body(), fields_named(NAMES):
        made = instances_create(caller=call.caller, wanted=asked)
    secret = {"adminPass": asked.admin_pass} if asked.admin_pass else {}
    if is_yes(said.get("return_reservation_id", False)):
        return call.answer({"reservation_id": str(made[0].reservation_id)}, status=202)
    first = made[0]
    document = {
        "id": str(first.pk),
        "links": call.links("servers", first.pk),
        SIZED_BY: first.disk_config or MANUAL,
        "security_groups": [{"name": name} for name in asked.security_groups or ("default",)],
        **secret,
    }
    location = {"Location": call.absolute_url("v2.1", "servers", first.pk)}
    return call.answer({"server": document}, status=202, headers=location)


def server_update(call: ComputeCall, server_id: str) -> HttpResponse:
    """Changes what the body names."""
    asked = call.body(server_update_schema(call.minor))["server"]
    server = server_found(call, server_id)
    changes = {ours: asked[key] for key, ours in CHANGES.items() if key in asked}
    if "description" in asked:
        changes["description"] = asked["description"] or ""
    if asked.get(SIZED_BY, server.disk_config or MANUAL) != (server.disk_config or MANUAL):
        changes["disk_config"] = asked[SIZED_BY]
    with fields_named(CHANGED_NAMES):
        changed = instance_update(caller=call.caller, instance_id=server.pk, changes=changes) if changes else server
    return call.answer({"server": changed_server_document(call, changed, group_ids=group_ids(call, changed))})


def server_delete(call: ComputeCall, server_id: str) -> HttpResponse:
    """Deletes it, in whatever state it is."""
    instance_delete(caller=call.caller, instance_id=uuid_of(server_id, what="Instance"))
    return call.empty()
