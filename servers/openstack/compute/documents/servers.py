"""A server as each microversion shows it: the exact keys count, since clients check them."""

import uuid
from collections.abc import Collection, Mapping, Sequence
from hashlib import sha224
from typing import Any

from computeagent.protocol.power import PowerState
from servers.images.domain.boot_files import root_device_name
from servers.instances.selectors.instances import instance_details
from servers.instances.selectors.interfaces import addresses_without_port
from servers.models import Instance
from servers.openstack.call import micro_seconds, whole_seconds
from servers.openstack.compute.call import ComputeCall
from servers.openstack.compute.documents.server_facts import FAULT_STATUSES, HINTS_SINCE, ServerFacts, server_facts
from servers.states import POWER_STATE_CODES, api_status

WITH_PROGRESS = frozenset({"ACTIVE", "BUILD", "REBUILD", "RESIZE", "VERIFY_RESIZE", "MIGRATING"})
MANUAL = "MANUAL"
WHOLE_ANSWERS_SINCE = 75
"""From here on a change answers with all that a server shows."""


def server_documents(call: ComputeCall, servers: Collection[Instance]) -> list[dict[str, Any]]:
    """Of a list with details."""
    facts = server_facts(call, servers)
    return [{**_basic(call, one, facts), **_extended(call, one, facts)} for one in servers]


def server_document(call: ComputeCall, server: Instance, *, group_ids: Sequence[uuid.UUID]) -> dict[str, Any]:
    """Of one: its server group is not in lists."""
    (document,) = server_documents(call, [server])
    return document | ({"server_groups": [str(one) for one in group_ids]} if call.minor >= 71 else {})


def changed_server_document(call: ComputeCall, server: Instance, *, group_ids: Sequence[uuid.UUID]) -> dict[str, Any]:
    """What a change answers with: in older versions without the keys that were extensions once."""
    if call.minor >= WHOLE_ANSWERS_SINCE:
        return server_document(call, server, group_ids=group_ids)
    facts = server_facts(call, [server])
    document = _basic(call, server, facts) | {"addresses": addresses_document(server, facts, is_short=True)}
    return document | ({"server_groups": [str(one) for one in group_ids]} if call.minor >= 71 else {})


def server_brief(call: ComputeCall, server: Instance) -> dict[str, Any]:
    """Of a list without details."""
    return {"id": str(server.pk), "name": server.name, "links": call.links("servers", server.pk)}


def host_id(server: Instance) -> str:
    """Tells two hosts of a project apart, and nobody which they are."""
    if not server.host:
        return ""
    return sha224(f"{server.project_id.hex}{server.host}".encode()).hexdigest()


def addresses_document(server: Instance, facts: ServerFacts, *, is_short: bool = False) -> dict[str, Any]:
    """Addresses by the name of their network. `is_short`: without what is no address, as changes and the list of
    addresses alone have them.
    """
    interfaces = facts.interfaces.get(server.pk, ())
    found: dict[str, list[dict[str, Any]]] = {}
    for card in interfaces:
        for address in card.addresses:
            one = {"version": address.version, "addr": address.address}
            more = {"OS-EXT-IPS:type": address.kind, "OS-EXT-IPS-MAC:mac_addr": card.mac}
            found.setdefault(card.network, []).append(one if is_short else {**one, **more})
    for network, addresses in addresses_without_port(server, interfaces).items():
        for text in addresses:
            one = {"version": 6 if ":" in text else 4, "addr": text}
            more = {"OS-EXT-IPS:type": "fixed", "OS-EXT-IPS-MAC:mac_addr": ""}
            found.setdefault(network, []).append(one if is_short else {**one, **more})
    return found


def _basic(call: ComputeCall, server: Instance, facts: ServerFacts) -> dict[str, Any]:
    """What also changes have answered with from the beginning."""
    status, details = api_status(server.vm_state, server.task_state), instance_details(server)
    document: dict[str, Any] = {
        "id": str(server.pk),
        "name": server.name,
        "status": status,
        "tenant_id": server.project_id.hex,
        "user_id": server.user_id.hex,
        "metadata": dict(server.metadata),
        "hostId": host_id(server),
        "image": _image(call, server),
        "flavor": _flavor(call, server),
        "created": whole_seconds(server.created_at),
        "updated": whole_seconds(server.updated_at),
        "addresses": addresses_document(server, facts),
        "accessIPv4": server.access_ip_v4,
        "accessIPv6": server.access_ip_v6,
        "links": call.links("servers", server.pk),
        "OS-DCF:diskConfig": server.disk_config or MANUAL,
    }
    if status in WITH_PROGRESS:
        document["progress"] = 0
    if status in FAULT_STATUSES and (fault := facts.faults.get(server.pk)):
        document["fault"] = {
            "code": fault.code,
            "created": whole_seconds(fault.created_at),
            "message": fault.message,
            **({"details": fault.details} if fault.details and call.caller.sees_all else {}),
        }
    since: dict[int, tuple[str, Any]] = {
        9: ("locked", server.locked),
        19: ("description", server.description or None),
        26: ("tags", list(details.tags)),
        63: ("trusted_image_certificates", list(server.trusted_image_certificates) or None),
        73: ("locked_reason", server.locked_reason or None),
    }
    return document | {key: value for minor, (key, value) in since.items() if call.minor >= minor}


def _extended(call: ComputeCall, server: Instance, facts: ServerFacts) -> dict[str, Any]:
    """What only lists and shows have answered with until 2.75."""
    document: dict[str, Any] = {
        "OS-EXT-AZ:availability_zone": server.availability_zone,
        "OS-EXT-STS:task_state": server.task_state or None,
        "OS-EXT-STS:vm_state": server.vm_state,
        "OS-EXT-STS:power_state": POWER_STATE_CODES[PowerState(server.power_state)],
        "OS-SRV-USG:launched_at": micro_seconds(server.launched_at),
        "OS-SRV-USG:terminated_at": micro_seconds(server.terminated_at),
        "config_drive": "True" if server.config_drive else "",
        "key_name": server.key_name or None,
        "os-extended-volumes:volumes_attached": _volumes(call, server, facts),
    }
    if names := facts.groups.get(server.pk):
        document["security_groups"] = [{"name": name} for name in names]
    if call.minor >= 90:
        document["OS-EXT-SRV-ATTR:hostname"] = server.hostname
    if call.minor >= 96:
        document["pinned_availability_zone"] = facts.zones.get(server.pk) or None
    if call.minor >= HINTS_SINCE:
        document["scheduler_hints"] = _hints(server, facts)
    return document | (_for_administrators(call, server, facts) if call.caller.sees_all else {})


def _for_administrators(call: ComputeCall, server: Instance, facts: ServerFacts) -> dict[str, Any]:
    document: dict[str, Any] = {
        "OS-EXT-SRV-ATTR:host": server.host or None,
        "OS-EXT-SRV-ATTR:hypervisor_hostname": server.node or None,
        "OS-EXT-SRV-ATTR:instance_name": f"i-{server.pk.hex[:12]}",
    }
    if call.minor >= 3:
        document |= {
            "OS-EXT-SRV-ATTR:hostname": server.hostname,
            "OS-EXT-SRV-ATTR:kernel_id": (server.image.get("kernel") or {}).get("id") or "",
            "OS-EXT-SRV-ATTR:ramdisk_id": (server.image.get("ramdisk") or {}).get("id") or "",
            "OS-EXT-SRV-ATTR:launch_index": server.launch_index,
            "OS-EXT-SRV-ATTR:reservation_id": str(server.reservation_id) if server.reservation_id else None,
            "OS-EXT-SRV-ATTR:root_device_name": _root_device(server, facts),
            "OS-EXT-SRV-ATTR:user_data": server.user_data or None,
        }
    if call.minor >= 16:
        document["host_status"] = facts.hosts.get(server.host, "UNKNOWN") if server.host else ""
    return document


def _root_device(server: Instance, facts: ServerFacts) -> str:
    for disk in facts.disks.get(server.pk, ()):
        if disk.is_root:
            return f"/dev/{disk.device}"
    return root_device_name(server.image.get("properties", {}))


def _volumes(call: ComputeCall, server: Instance, facts: ServerFacts) -> list[dict[str, Any]]:
    return [
        {
            "id": str(disk.volume_id),
            **({"delete_on_termination": disk.delete_on_termination} if call.minor >= 3 else {}),
        }
        for disk in facts.disks.get(server.pk, ())
        if disk.volume_id is not None
    ]


def _hints(server: Instance, facts: ServerFacts) -> Mapping[str, Any]:
    asked = facts.requests.get(server.pk)
    if asked is None:
        return {}
    hints: dict[str, Any] = {
        key: values[0] if len(values) == 1 else list(values) for key, values in asked.hints.items()
    }
    return hints | ({"group": str(asked.group_id)} if asked.group_id else {})


def _image(call: ComputeCall, server: Instance) -> Any:
    """Empty text for a server that boots from a volume."""
    if server.is_bfv or not server.image.get("id"):
        return ""
    found = str(server.image["id"])
    shown: dict[str, Any] = {"id": found, "links": call.bookmark("images", found)}
    if call.minor >= 98:
        shown["properties"] = {key: str(value) for key, value in server.image.get("properties", {}).items()}
    return shown


def _flavor(call: ComputeCall, server: Instance) -> dict[str, Any]:
    flavor = server.flavor
    if call.minor < 47:
        found = str(flavor.get("given_id") or flavor.get("id") or server.flavor_id)
        return {"id": found, "links": call.bookmark("flavors", found)}
    return {
        "vcpus": flavor["vcpus"],
        "ram": flavor["memory_mib"],
        "disk": flavor["root_gib"],
        "ephemeral": flavor["ephemeral_gib"],
        "swap": flavor["swap_mib"],
        "original_name": flavor["name"],
        "extra_specs": dict(flavor.get("extra_specs", {})),
    }
