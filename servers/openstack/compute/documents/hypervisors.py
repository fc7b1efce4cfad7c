"""Hypervisors as the Compute API shows them."""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from scheduling.fleet.selectors.hosts import HostNode
from servers.openstack.compute.call import ComputeCall
from servers.openstack.compute.numbers import number_of

CPU_OBJECT_SINCE = 28
UUIDS_SINCE = 53
FIGURES_UNTIL = 87
MINUTES_OF_DAY = 1440
Servers = Mapping[str, Sequence[tuple[UUID, str]]]


def hypervisor_short(call: ComputeCall, node: HostNode, servers: Servers | None = None) -> dict[str, Any]:
    """Its id, its name and how it is; with its servers where they are asked for."""
    shown: dict[str, Any] = {
        "id": str(node.pk) if call.minor >= UUIDS_SINCE else number_of(node.pk),
        "hypervisor_hostname": node.hypervisor_hostname,
        "state": "up" if getattr(node, "is_up", False) else "down",
        "status": "disabled" if node.service.disabled else "enabled",
    }
    if servers is not None:
        shown["servers"] = [{"uuid": str(pk), "name": name} for pk, name in servers.get(node.host, ())]
    return shown


def hypervisor_document(
    call: ComputeCall, node: HostNode, *, busy: Mapping[str, int], servers: Servers | None = None
) -> dict[str, Any]:
    """All of it: figures until 2.87, and after that how long its host is up."""
    service = node.service
    shown = hypervisor_short(call, node, servers) | {
        "hypervisor_type": node.hypervisor_type,
        "hypervisor_version": node.hypervisor_version,
        "host_ip": node.host_ip or None,
        "service": {
            "id": str(service.pk) if call.minor >= UUIDS_SINCE else number_of(service.pk),
            "host": service.host,
            "disabled_reason": service.disabled_reason or None,
        },
    }
    if call.minor > FIGURES_UNTIL:
        return shown | {"uptime": uptime_of(node)}
    return shown | figures_of([node], busy) | {"cpu_info": _cpu_info(call, node)}


def uptime_of(node: HostNode) -> str | None:
    """For how long its host was up when it was last measured, in the words of the command of that name; None where
    that is not known, or the host is down.
    """
    seconds = (node.metrics or {}).get("uptime")
    if not isinstance(seconds, int | float) or not getattr(node, "is_up", False):
        return None
    days, minutes = divmod(int(seconds) // 60, MINUTES_OF_DAY)
    load = [(node.metrics or {}).get(f"cpu.load.{span}m") for span in (1, 5, 15)]
    average = f", load average: {load[0]:.2f}, {load[1]:.2f}, {load[2]:.2f}" if None not in load else ""
    return f"up {days} days, {minutes // 60:2}:{minutes % 60:02}{average}"


def figures_of(nodes: Sequence[HostNode], busy: Mapping[str, int]) -> dict[str, int]:
    """What these nodes have together, by the names of the API."""
    memory, memory_used = sum(one.memory_mib for one in nodes), sum(one.memory_used_mib for one in nodes)
    disk, disk_used = sum(one.disk_gib for one in nodes), sum(one.disk_used_gib for one in nodes)
    return {
        "vcpus": sum(one.vcpus + one.dedicated_vcpus for one in nodes),
        "vcpus_used": sum(one.vcpus_used for one in nodes),
        "memory_mb": memory,
        "memory_mb_used": memory_used,
        "free_ram_mb": memory - memory_used,
        "local_gb": disk,
        "local_gb_used": disk_used,
        "free_disk_gb": disk - disk_used,
        "disk_available_least": sum(one.disk_available_least_gib for one in nodes),
        "running_vms": sum(one.running_guests for one in nodes),
        "current_workload": sum(busy.get(one.host, 0) for one in nodes),
    }


def _cpu_info(call: ComputeCall, node: HostNode) -> Any:
    """An object since 2.28, before that its text. Drivers leave out what they do not know."""
    known = node.cpu_info or {}
    topology = known.get("topology") or {}
    shown = {name: known.get(name, "") for name in ("arch", "model", "vendor")} | {
        "features": known.get("features", []),
        "topology": {name: topology.get(name, 1) for name in ("sockets", "cores", "threads")},
    }
    return shown if call.minor >= CPU_OBJECT_SINCE else json.dumps(shown)
