"""An instance in the form of Nova's notifications: names, versions and fields of objects are Nova's (34)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import ip_address
from typing import Any

from scheduling.domain.notification_payload import Payload, flavor_payload, nova_object
from scheduling.domain.snapshots import FlavorSnapshot


@dataclass(frozen=True, slots=True)
class FaultFacts:
    """Why something failed. `exception` is the class of it, or the step where no class is known."""

    exception: str
    message: str
    module: str = ""
    function: str = ""


@dataclass(frozen=True, slots=True)
class States:
    """The two states of an instance at one moment; None before it had any."""

    vm_state: str | None
    task_state: str | None


@dataclass(frozen=True, slots=True)
class Address:
    """An IP address of a port."""

    label: str
    mac: str
    port_uuid: str
    address: str


@dataclass(frozen=True, slots=True)
class VolumeDisk:
    """A volume that an instance has, or is being given."""

    volume_id: str
    device: str = ""
    boot_index: int = -1
    delete_on_termination: bool = False
    tag: str = ""


@dataclass(frozen=True, slots=True)
class InstanceFacts:
    """What a notification says of an instance. `columns` are fields of its row by name, times as datetimes.

    `guest_name` is what its hypervisor calls it, `fingerprint` that of its key.
    """

    columns: Mapping[str, Any]
    flavor: Mapping[str, Any]
    addresses: Sequence[Address] = ()
    volumes: Sequence[VolumeDisk] = ()
    tags: Sequence[str] = ()
    fingerprint: str = ""
    guest_name: str = ""
    request_id: str = ""
    initiator_user: str | None = None
    initiator_project: str | None = None


POWER_STATES = {"nostate": "pending"}
"""Where Nova's notifications have another word for a power state than we have."""


def action_payload(facts: InstanceFacts, fault: FaultFacts | None) -> Payload:
    data = {**_instance(facts), "fault": None if fault is None else fault_payload(fault)}
    return nova_object("InstanceActionPayload", "1.9", data)


def create_payload(facts: InstanceFacts, fault: FaultFacts | None) -> Payload:
    data = {
        **_instance(facts),
        "fault": None if fault is None else fault_payload(fault),
        "keypairs": _keypairs(facts),
        "tags": list(facts.tags),
        "trusted_image_certificates": None,
        "instance_name": facts.guest_name or None,
    }
    return nova_object("InstanceCreatePayload", "1.13", data)


def update_payload(
    facts: InstanceFacts, *, before: States, after: States, now: datetime, old_name: str | None = None
) -> Payload:
    """InstanceUpdatePayload 2.1; its audit period is the month so far. `old_name`: what a renamed one was called."""
    change = {
        "old_state": before.vm_state,
        "state": after.vm_state,
        "old_task_state": before.task_state or None,
        "new_task_state": after.task_state or None,
    }
    month = now.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    period = {"audit_period_beginning": _time(month), "audit_period_ending": _time(now)}
    data = {
        **_instance(facts),
        "state_update": nova_object("InstanceStateUpdatePayload", "1.0", change),
        "audit_period": nova_object("AuditPeriodPayload", "1.0", period),
        "old_display_name": old_name,
        "tags": list(facts.tags),
    }
    return nova_object("InstanceUpdatePayload", "2.1", data)


def task_failure_payload(instance_uuid: str, request_spec: Payload | None, fault: FaultFacts) -> Payload:
    """ComputeTaskPayload 1.0: the conductor found no host for an instance, which is in ERROR now."""
    data = {
        "instance_uuid": instance_uuid,
        "request_spec": request_spec,
        "state": "error",
        "reason": fault_payload(fault),
    }
    return nova_object("ComputeTaskPayload", "1.0", data)


def _block_device(disk: VolumeDisk) -> Payload:
    """BlockDevicePayload 1.0: Nova names volumes alone, none of the disks of its host."""
    data = {
        "device_name": f"/dev/{disk.device}" if disk.device else None,
        "boot_index": None if disk.boot_index < 0 else disk.boot_index,
        "delete_on_termination": disk.delete_on_termination,
        "volume_id": disk.volume_id,
        "tag": disk.tag or None,
    }
    return nova_object("BlockDevicePayload", "1.0", data)


def fault_payload(fault: FaultFacts) -> Payload:
    """ExceptionPayload 1.1. Tracebacks are for logs and never sent."""
    data = {
        "module_name": fault.module,
        "function_name": fault.function,
        "exception": fault.exception,
        "exception_message": fault.message,
        "traceback": "",
    }
    return nova_object("ExceptionPayload", "1.1", data)


def _instance(facts: InstanceFacts) -> Payload:
    """The fields that every payload of an instance has."""
    row = facts.columns
    return {
        **_names(row),
        **_states(row),
        "flavor": flavor_payload(FlavorSnapshot(**facts.flavor)),
        "ip_addresses": [_address(one) for one in facts.addresses],
        "metadata": {str(key): str(value) for key, value in (row["metadata"] or {}).items()},
        "locked": bool(row["locked"]),
        "locked_reason": row["locked_reason"] or None,
        "auto_disk_config": "MANUAL",
        "block_devices": [_block_device(one) for one in facts.volumes],
        "shares": None,
        "request_id": facts.request_id or None,
        "action_initiator_user": facts.initiator_user,
        "action_initiator_project": facts.initiator_project,
    }


def _names(row: Mapping[str, Any]) -> Payload:
    """Who it is, whose, where, and made of what. What is not known here is null, as Nova has it."""
    return {
        "uuid": str(row["id"]),
        "user_id": str(row["user_id"]),
        "tenant_id": str(row["project_id"]),
        "reservation_id": str(row["reservation_id"]) if row["reservation_id"] else None,
        "display_name": row["name"],
        "display_description": row["description"] or None,
        "host_name": row["hostname"] or None,
        "host": row["host"] or None,
        "node": row["node"] or None,
        "availability_zone": row["availability_zone"] or None,
        "image_uuid": str(row["image_id"]) if row["image_id"] else None,
        "key_name": row["key_name"] or None,
        "os_type": None,
        "architecture": None,
        "kernel_id": "",
        "ramdisk_id": "",
    }


def _states(row: Mapping[str, Any]) -> Payload:
    times = ("created_at", "updated_at", "launched_at", "terminated_at", "deleted_at")
    return {
        "state": row["vm_state"],
        "task_state": row["task_state"] or None,
        "power_state": POWER_STATES.get(row["power_state"], row["power_state"]),
        "progress": 0,
        **{name: _time(row[name]) for name in times},
    }


def _address(one: Address) -> Payload:
    data: Payload = {
        "label": one.label,
        "mac": one.mac,
        "meta": {},
        "port_uuid": one.port_uuid or None,
        "version": ip_address(one.address).version,
        "address": one.address,
        "device_name": None,
    }
    return nova_object("IpPayload", "1.0", data)


def _keypairs(facts: InstanceFacts) -> list[Payload]:
    row = facts.columns
    if not row["key_name"]:
        return []
    data: Payload = {
        "user_id": str(row["user_id"]),
        "name": row["key_name"],
        "fingerprint": facts.fingerprint or None,
        "public_key": row["public_key"] or None,
        "type": "ssh",
    }
    return [nova_object("KeypairPayload", "1.0", data)]


def _time(moment: datetime | None) -> str | None:
    """As Nova writes times: whole seconds of UTC."""
    return None if moment is None else moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
