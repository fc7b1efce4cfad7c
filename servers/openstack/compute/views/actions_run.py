"""What the actions of a server do: each asks a service, and answers as Nova does."""

import uuid
from collections.abc import Callable
from typing import Any

from django.http import HttpResponse

from computeagent.protocol.consoles import ConsoleKind
from controlplane.kernel.errors import Conflict, NotFound
from controlplane.kernel.ids import parse_uuid
from controlplane.openstack.faults import ApiFault, bad_request, conflict, not_found
from servers.catalog.selectors.server_group import group_ids_of_instance
from servers.instances.actions.guards import guard_refusal
from servers.instances.actions.refusal import lock_refusal
from servers.instances.domain.guest_config_rules import admin_pass_new
from servers.instances.domain.rebuild_rules import InstanceRebuild
from servers.instances.selectors.instances import console_log_stored, console_log_tail, instance_get
from servers.instances.selectors.interfaces import FIXED, instance_interfaces
from servers.instances.services.act import instance_act
from servers.instances.services.delete import instance_delete
from servers.instances.services.image_making import instance_image_make
from servers.instances.services.rescue import instance_rebuild, instance_rescue
from servers.instances.services.reset_state import instance_reset_state
from servers.models import Instance
from servers.networks.domain.errors import NoMoreAddresses
from servers.networks.selectors.floating_ips import floating_ips_visible
from servers.networks.services.floating_ips import Target, floating_ip_associate, floating_ip_disassociate
from servers.networks.services.instance_addresses import instance_address_add, instance_address_remove
from servers.networks.services.instance_groups import instance_group_add, instance_group_remove
from servers.openstack.compute.call import ComputeCall
from servers.openstack.compute.consoles import console_opened
from servers.openstack.compute.create_body import last_part
from servers.openstack.compute.documents.servers import changed_server_document
from servers.openstack.compute.faults import fields_named, named_in_body, passed_on
from servers.openstack.compute.schemas.parts import is_yes

IMAGE_ID_SINCE, KEY_SINCE, USER_DATA_SINCE = 45, 54, 57
ActionRun = Callable[[ComputeCall, uuid.UUID, Any], HttpResponse]
REBUILD_WORDS = {
    "name": "name",
    "metadata": "metadata",
    "hostname": "hostname",
    "accessIPv4": "access_ip_v4",
    "accessIPv6": "access_ip_v6",
    "OS-DCF:diskConfig": "disk_config",
    "personality": "personality",
    "adminPass": "admin_pass",
}
REBUILD_NAMES = {ours: key for key, ours in REBUILD_WORDS.items()} | {"image": "imageRef"}
RESCUE_NAMES = {"image": "rescue_image_ref", "admin_pass": "adminPass"}


def accepted(call: ComputeCall) -> HttpResponse:
    """What most of them answer."""
    return call.empty(status=202)


def verb(name: str) -> ActionRun:
    """An action of the table that takes nothing along."""

    def run(call: ComputeCall, server_id: uuid.UUID, _asked: Any) -> HttpResponse:
        instance_act(caller=call.caller, instance_id=server_id, action=name)
        return accepted(call)

    return run


def reboot(call: ComputeCall, server_id: uuid.UUID, asked: Any) -> HttpResponse:
    """Soft or hard."""
    action = "reboot_soft" if asked["type"].upper() == "SOFT" else "reboot"
    instance_act(caller=call.caller, instance_id=server_id, action=action)
    return accepted(call)


def lock(call: ComputeCall, server_id: uuid.UUID, asked: Any) -> HttpResponse:
    """With or without a reason."""
    reason = (asked or {}).get("locked_reason", "")
    instance_act(caller=call.caller, instance_id=server_id, action="lock", arguments={"reason": reason})
    return accepted(call)


def unshelve(call: ComputeCall, server_id: uuid.UUID, asked: Any) -> HttpResponse:
    """Where it was, or where it is said."""
    said = asked or {}
    if "availability_zone" in said and said["availability_zone"] is None:
        raise bad_request("A server cannot be taken out of the zone that it is bound to: name another zone.")
    arguments = {key: said[key] for key in ("availability_zone", "host") if said.get(key)}
    instance_act(caller=call.caller, instance_id=server_id, action="unshelve", arguments=arguments)
    return accepted(call)


def inject_network_info(call: ComputeCall, server_id: uuid.UUID, _asked: Any) -> HttpResponse:
    """The metadata service tells a guest its interfaces as they are at each request: nothing is left to be done."""
    instance_get(caller=call.caller, instance_id=server_id)
    return accepted(call)


def force_delete(call: ComputeCall, server_id: uuid.UUID, _asked: Any) -> HttpResponse:
    """For good and at once."""
    instance_delete(caller=call.caller, instance_id=server_id, is_forced=True)
    return accepted(call)


def reset_state(call: ComputeCall, server_id: uuid.UUID, asked: Any) -> HttpResponse:
    """The record alone."""
    instance_reset_state(caller=call.caller, instance_id=server_id, state=asked["state"])
    return accepted(call)


def change_password(call: ComputeCall, server_id: uuid.UUID, asked: Any) -> HttpResponse:
    """Of the guest's administrator."""
    arguments = {"password": asked["adminPass"]}
    instance_act(caller=call.caller, instance_id=server_id, action="change_password", arguments=arguments)
    return accepted(call)


def _image_made(call: ComputeCall, server_id: uuid.UUID, action: str, asked: Any, **arguments: str) -> HttpResponse:
    with fields_named({"properties": "metadata"}):
        changed = instance_image_make(
            caller=call.caller,
            instance_id=server_id,
            action=action,
            arguments={"name": asked["name"], **arguments},
            properties=asked.get("metadata", {}),
        )
    made = str(changed.made_image_id)
    if call.minor >= IMAGE_ID_SINCE:
        return call.answer({"image_id": made}, status=202)
    return call.empty(status=202, location=call.request.build_absolute_uri(f"/image/v2/images/{made}"))


def create_image(call: ComputeCall, server_id: uuid.UUID, asked: Any) -> HttpResponse:
    """A snapshot."""
    return _image_made(call, server_id, "snapshot", asked)


def create_backup(call: ComputeCall, server_id: uuid.UUID, asked: Any) -> HttpResponse:
    """A snapshot, and the oldest of its kind go."""
    rotation = str(asked["rotation"])
    return _image_made(call, server_id, "backup", asked, backup_type=asked["backup_type"], rotation=rotation)


def rebuild(call: ComputeCall, server_id: uuid.UUID, asked: Any) -> HttpResponse:
    """New disks from an image. The answer shows the server, and the password, given or made, this one time."""
    words = {ours: asked[key] for key, ours in REBUILD_WORDS.items() if asked.get(key) is not None}
    for key in ("description", "key_name", "user_data"):
        if key in asked:
            words[key] = asked[key] or ""
    if "trusted_image_certificates" in asked:
        words["trusted_image_certificates"] = asked["trusted_image_certificates"] or []
    server = instance_get(caller=call.caller, instance_id=server_id)
    if server.config_drive:
        words.setdefault("admin_pass", admin_pass_new())
    wanted = InstanceRebuild(
        image=last_part(asked["imageRef"]),
        preserve_ephemeral=is_yes(asked.get("preserve_ephemeral", False)),
        reimage_boot_volume=server.is_bfv and call.minor >= 93,
        **words,
    )
    with named_in_body(), fields_named(REBUILD_NAMES):
        changed = instance_rebuild(caller=call.caller, instance_id=server_id, wanted=wanted)
    groups = group_ids_of_instance(instance_id=changed.pk) if call.minor >= 71 else []
    document = changed_server_document(call, changed, group_ids=groups)
    document |= {"adminPass": wanted.admin_pass} if wanted.admin_pass else {}
    document |= {"key_name": changed.key_name or None} if call.minor >= KEY_SINCE else {}
    if call.minor >= USER_DATA_SINCE:
        document |= {"user_data": changed.user_data or None}
        document.pop("OS-EXT-SRV-ATTR:user_data", None)  # it would be there twice
    return call.answer({"server": document}, status=202, headers={"Location": document["links"][0]["href"]})


def rescue(call: ComputeCall, server_id: uuid.UUID, asked: Any) -> HttpResponse:
    """From another image, or its own. The answer says the password, given or made, that its config drive brings."""
    said = asked or {}
    image, password = last_part(said.get("rescue_image_ref", "")), said.get("adminPass", "")
    server = instance_get(caller=call.caller, instance_id=server_id)
    if server.config_drive:
        password = password or admin_pass_new()
    try:
        with fields_named(RESCUE_NAMES):
            instance_rescue(caller=call.caller, instance_id=server_id, image=image, admin_pass=password)
    except NotFound as error:
        if image:
            raise bad_request(error.message) from error
        raise
    return call.answer({"adminPass": password} if password else {})


def console_output(call: ComputeCall, server_id: uuid.UUID, asked: Any) -> HttpResponse:
    """The end of the serial log, or all that is kept of it."""
    server = instance_get(caller=call.caller, instance_id=server_id)
    if server.launched_at is None:
        raise Conflict(f"Instance {server_id} is not ready")
    length = (asked or {}).get("length")
    if length is None or int(length) < 0:
        return call.answer({"output": console_log_stored(instance_id=server.pk).decode()})
    return call.answer({"output": console_log_tail(instance_id=server.pk, lines=int(length))})


def console(kind: ConsoleKind) -> ActionRun:
    """A console as versions before 2.6 ask for one."""

    def run(call: ComputeCall, server_id: uuid.UUID, asked: Any) -> HttpResponse:
        url = console_opened(call, server_id, kind)
        return call.answer({"console": {"type": asked["type"], "url": url}}, headers={"Cache-Control": "no-store"})

    return run


def no_console(call: ComputeCall, server_id: uuid.UUID, asked: Any) -> HttpResponse:
    """A kind of console that no driver here has."""
    instance_get(caller=call.caller, instance_id=server_id)
    raise bad_request(f"Unavailable console type {asked['type']}.")


def security_group_add(call: ComputeCall, server_id: uuid.UUID, asked: Any) -> HttpResponse:
    """All its ports get it."""
    server = instance_get(caller=call.caller, instance_id=server_id)
    instance_group_add(project_id=server.project_id, instance_uuid=server.pk, group=asked["name"])
    return accepted(call)


def security_group_remove(call: ComputeCall, server_id: uuid.UUID, asked: Any) -> HttpResponse:
    """All its ports lose it."""
    server = instance_get(caller=call.caller, instance_id=server_id)
    instance_group_remove(project_id=server.project_id, instance_uuid=server.pk, group=asked["name"])
    return accepted(call)


def floating_ip_add(call: ComputeCall, server_id: uuid.UUID, asked: Any) -> HttpResponse:
    """Stands from now on for an address of the server: the one that is named, else its first one of IPv4."""
    server = instance_get(caller=call.caller, instance_id=server_id)
    floating = floating_ips_visible(caller=call.caller).filter(address=asked["address"]).first()
    if floating is None:
        raise not_found("floating IP not found")
    fixed = asked.get("fixed_address") or ""
    for card in instance_interfaces([server]).get(server.pk, ()):
        own = [one.address for one in card.addresses if one.kind == FIXED and one.version == 4]
        if fixed in own or (not fixed and own):
            target = Target(card.port_id, fixed or own[0])
            with named_in_body(), passed_on():
                floating_ip_associate(caller=call.caller, floating_ip_id=floating.pk, target=target)
            return accepted(call)
    raise bad_request("Specified fixed address not assigned to instance" if fixed else "No fixed IPs associated")


def floating_ip_remove(call: ComputeCall, server_id: uuid.UUID, asked: Any) -> HttpResponse:
    """Stands for nothing from now on."""
    server = instance_get(caller=call.caller, instance_id=server_id)
    floating = floating_ips_visible(caller=call.caller).filter(address=asked["address"]).first()
    if floating is None:
        raise not_found("floating IP not found")
    if floating.port is None or floating.port.instance_uuid != server.pk:
        raise conflict(f"Floating IP {asked['address']:.45} is not associated with instance {server.pk}.")
    floating_ip_disassociate(caller=call.caller, floating_ip_id=floating.pk)
    return accepted(call)


def fixed_address_add(call: ComputeCall, server_id: uuid.UUID, asked: Any) -> HttpResponse:
    """A port of the server in this network gets one more of its addresses."""
    server = _unlocked(call, server_id)
    network = parse_uuid(str(asked["networkId"]))
    if network is None:
        raise not_found(f"Network {asked['networkId']!s:.60} could not be found for instance {server.pk}.")
    try:
        instance_address_add(instance_uuid=server.pk, network_id=network)
    except NoMoreAddresses as error:
        raise bad_request(error.message) from error
    return accepted(call)


def fixed_address_remove(call: ComputeCall, server_id: uuid.UUID, asked: Any) -> HttpResponse:
    """The port of the server that has it loses it."""
    instance_address_remove(instance_uuid=_unlocked(call, server_id).pk, address=asked["address"])
    return accepted(call)


def _unlocked(call: ComputeCall, server_id: uuid.UUID) -> Instance:
    server = instance_get(caller=call.caller, instance_id=server_id)
    if refused := lock_refusal(server, call.caller):
        raise Conflict(refused)
    return server


def not_provided(guard: str) -> ActionRun:
    """What no driver here can do: refused where Nova would refuse it anyway, and else as Nova says that it is so."""

    def run(call: ComputeCall, server_id: uuid.UUID, _asked: Any) -> HttpResponse:
        server = instance_get(caller=call.caller, instance_id=server_id)
        states = {"vm_state": server.vm_state, "task_state": server.task_state}
        if refused := guard_refusal(guard, **states, is_launched=server.launched_at is not None):
            raise Conflict(refused)
        raise ApiFault(501, "The requested functionality is not supported.")

    return run
