"""Hosts as Nova showed them until 2.42, for administrators."""

from typing import Any

from django.http import HttpResponse

from controlplane.openstack.faults import ApiFault
from controlplane.openstack.schemas import CompiledSchema
from scheduling.fleet.selectors.hosts import host_get
from scheduling.fleet.selectors.liveness import services_with_is_up
from scheduling.fleet.selectors.zones import default_zone, zones_by_host
from scheduling.fleet.services.service_states import service_disable, service_enable
from servers.instances.selectors.on_hosts import projects_on_host
from servers.openstack.compute.call import ComputeCall
from servers.openstack.compute.schemas.parts import closed

_SWITCH = {"type": "string", "pattern": "^ *([Ee][Nn]|[Dd][Ii][Ss])[Aa][Bb][Ll][Ee] *$"}
HOST_CHANGE = CompiledSchema({**closed([], status=_SWITCH, maintenance_mode=_SWITCH), "minProperties": 1})


def hosts_list(call: ComputeCall) -> HttpResponse:
    """All, or those of a zone that is named: a blank one is none, as in Nova."""
    zones, wanted = zones_by_host(), call.query.get("zone")
    shown = [
        {"host_name": row.host, "service": "compute", "zone": zones.get(row.host, default_zone())}
        for row in services_with_is_up()
    ]
    return call.answer({"hosts": [one for one in shown if not wanted or one["zone"] == wanted]})


def host_show(call: ComputeCall, host: str) -> HttpResponse:
    """What it has, what is taken of it, what its servers may take, and of that each project's."""
    node, projects = host_get(host=host).node, projects_on_host(host=host)
    shown = [
        _resource(host, "(total)", node.vcpus + node.dedicated_vcpus, node.memory_mib, node.disk_gib),
        _resource(host, "(used_now)", node.vcpus_used, node.memory_used_mib, node.disk_used_gib),
        _resource(
            host,
            "(used_max)",
            sum(one.vcpus for one in projects),
            sum(one.memory_mib for one in projects),
            sum(one.disk_gib for one in projects),
        ),
        *(_resource(host, one.project_id.hex, one.vcpus, one.memory_mib, one.disk_gib) for one in projects),
    ]
    return call.answer({"host": shown})


def _resource(host: str, project: str, cpu: int, memory_mb: int, disk_gb: int) -> dict[str, Any]:
    return {"resource": {"host": host, "project": project, "cpu": cpu, "memory_mb": memory_mb, "disk_gb": disk_gb}}


def host_change(call: ComputeCall, host: str) -> HttpResponse:
    """On or off for new servers. No driver here has a maintenance mode."""
    asked = {name: value.strip().lower() for name, value in call.body(HOST_CHANGE).items()}
    host_get(host=host)
    if "maintenance_mode" in asked:
        raise ApiFault(501, "Virt driver does not implement host maintenance mode.")
    if asked["status"] == "enable":
        service_enable(host=host)
    else:
        service_disable(host=host)
    return call.answer({"host": host, "status": f"{asked['status']}d"})


def host_power(call: ComputeCall, host: str) -> HttpResponse:
    """No driver here starts, stops or reboots its host."""
    host_get(host=host)
    raise ApiFault(501, "Virt driver does not implement host power actions.")
