"""A scheduling request in the form of Nova's notifications: names, versions and fields are Nova's (34)."""

from collections.abc import Mapping
from typing import Any

from computeagent.protocol.topology import GuestTopology, InstanceNUMACell
from controlplane.kernel.errors import KilonovaError
from scheduling.domain.request.schedule_request import Destination, GroupSnapshot, ScheduleRequest
from scheduling.domain.snapshots import FlavorSnapshot, ImageSnapshot
from scheduling.topology.domain.numa.constraint import guest_topology
from scheduling.topology.domain.pci.asked import PciRequest

Payload = dict[str, Any]


def nova_object(name: str, version: str, data: Mapping[str, Any]) -> Payload:
    """An object in the form in which Nova's notifications carry objects."""
    return {
        "nova_object.name": name,
        "nova_object.namespace": "nova",
        "nova_object.version": version,
        "nova_object.data": dict(data),
    }


def request_spec_payload(request: ScheduleRequest) -> Payload:
    """RequestSpecPayload 1.1: the batch, named by its first instance."""
    uuid = request.instance_uuids[0]
    data = {
        "instance_uuid": uuid,
        "project_id": request.project_id,
        "user_id": request.user_id,
        "availability_zone": request.availability_zone,
        "flavor": flavor_payload(request.flavor),
        "force_hosts": request.force_hosts[0] if request.force_hosts else None,
        "force_nodes": request.force_nodes[0] if request.force_nodes else None,
        "ignore_hosts": list(request.ignore_hosts) or None,
        "image": _image(request.image),
        "instance_group": _group(request.group, request) if request.group else None,
        "numa_topology": _numa_topology(request),
        "pci_requests": _pci_requests(request.pci_requests, uuid),
        "num_instances": len(request.instance_uuids),
        "requested_destination": _destination(request.requested_destination) if request.requested_destination else None,
        "retry": _retry(request.retry) if request.retry else None,
        "scheduler_hints": {name: list(values) for name, values in request.hints.items()},
        "security_groups": [],
    }
    return nova_object("RequestSpecPayload", "1.1", data)


def failure_payload(spec: Payload, *, exception: str, message: str) -> Payload:
    """ComputeTaskPayload 1.0: a request's payload, and why nothing came of it. `exception` is its class."""
    reason = {
        "module_name": "scheduling.destinations.services.select",
        "function_name": "destinations_select",
        "exception": exception,
        "exception_message": message,
        "traceback": "",
    }
    data = {
        "instance_uuid": spec["nova_object.data"]["instance_uuid"],
        "request_spec": spec,
        "state": "error",
        "reason": nova_object("ExceptionPayload", "1.1", reason),
    }
    return nova_object("ComputeTaskPayload", "1.0", data)


def flavor_payload(flavor: FlavorSnapshot) -> Payload:
    data = {
        "flavorid": flavor.id,
        "name": flavor.name,
        "memory_mb": flavor.memory_mib,
        "vcpus": flavor.vcpus,
        "root_gb": flavor.root_gib,
        "ephemeral_gb": flavor.ephemeral_gib,
        "swap": flavor.swap_mib,
        "rxtx_factor": 1.0,
        "vcpu_weight": 0,
        "disabled": False,
        "is_public": True,
        "extra_specs": dict(flavor.extra_specs),
        "projects": None,
        "description": None,
    }
    return nova_object("FlavorPayload", "1.4", data)


def _image(image: ImageSnapshot) -> Payload:
    """What is stored of the image with the request; of the rest of Nova's fields nothing is known here."""
    unknown = dict.fromkeys(
        ("visibility", "protected", "checksum", "owner", "virtual_size", "created_at", "updated_at", "direct_url")
    )
    data: Payload = {
        **unknown,
        "id": image.id or None,
        "name": image.name or None,
        "status": image.status,
        "size": image.size_bytes,
        "container_format": "bare",
        "disk_format": image.disk_format or None,
        "tags": [],
        "min_ram": image.min_ram_mib,
        "min_disk": image.min_disk_gib,
        "properties": nova_object("ImageMetaPropsPayload", "1.20", image.properties),
    }
    return nova_object("ImageMetaPayload", "1.0", data)


def _group(group: GroupSnapshot, request: ScheduleRequest) -> Payload:
    data = {
        "uuid": group.uuid,
        "name": group.name or None,
        "user_id": request.user_id,
        "project_id": request.project_id,
        "policies": [group.policy],
        "policy": group.policy,
        "rules": {name: str(value) for name, value in group.rules.items()},
        "members": list(group.members),
        "hosts": list(group.hosts) or None,
    }
    return nova_object("ServerGroupPayload", "1.1", data)


def _numa_topology(request: ScheduleRequest) -> Payload | None:
    """None for most guests, and for a request that contradicts itself."""
    try:
        found = guest_topology(request.flavor, request.image)
    except KilonovaError:
        return None
    return None if found is None else _guest(found, request.instance_uuids[0])


def _guest(guest: GuestTopology, instance_uuid: str) -> Payload:
    data = {
        "instance_uuid": instance_uuid,
        "cells": [_cell(each) for each in guest.cells],
        "emulator_threads_policy": None if guest.emulator_threads is None else guest.emulator_threads.value,
    }
    return nova_object("InstanceNUMATopologyPayload", "1.0", data)


def _cell(cell: InstanceNUMACell) -> Payload:
    data = {
        "id": cell.id,
        "cpuset": sorted(cell.cpuset),
        "pcpuset": sorted(cell.pcpuset),
        "cpuset_reserved": None,
        "memory": cell.memory_mib,
        "pagesize": cell.page_size,
        "cpu_topology": None,
        "cpu_pinning_raw": None,
        "cpu_policy": None if cell.cpu_policy is None else cell.cpu_policy.value,
        "cpu_thread_policy": None if cell.thread_policy is None else cell.thread_policy.value,
    }
    return nova_object("InstanceNUMACellPayload", "1.2", data)


def _pci_requests(requests: tuple[PciRequest, ...], instance_uuid: str) -> Payload:
    data = {"instance_uuid": instance_uuid, "requests": [_pci_request(each) for each in requests]}
    return nova_object("InstancePCIRequestsPayload", "1.0", data)


def _pci_request(asked: PciRequest) -> Payload:
    data = {
        "count": asked.count,
        "spec": [dict(spec) for spec in asked.specs],
        "alias_name": asked.alias or None,
        "request_id": asked.request_id or None,
        "numa_policy": None if asked.numa_policy is None else asked.numa_policy.value,
    }
    return nova_object("InstancePCIRequestPayload", "1.1", data)


def _destination(wanted: Destination) -> Payload:
    cell = {"uuid": wanted.cell, "name": None, "disabled": False}
    data = {
        "host": wanted.host,
        "node": wanted.node,
        "cell": nova_object("CellMappingPayload", "2.0", cell) if wanted.cell else None,
        "aggregates": None,
    }
    return nova_object("DestinationPayload", "1.0", data)


def _retry(tried: tuple[tuple[str, str], ...]) -> Payload:
    data = {"num_attempts": len(tried) + 1, "hosts": [host for host, _ in tried]}
    return nova_object("SchedulerRetriesPayload", "1.0", data)
