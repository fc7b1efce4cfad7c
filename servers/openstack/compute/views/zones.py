"""Availability zones: for everybody; their hosts for administrators."""

from typing import Any

from django.http import HttpResponse

from scheduling.fleet.selectors.liveness import services_with_is_up
from scheduling.fleet.selectors.zones import zone_list
from servers.openstack.call import micro_seconds
from servers.openstack.compute.call import ComputeCall


def zones_list(call: ComputeCall) -> HttpResponse:
    """Names, and whether something can be made there."""
    return _answered(call, {})


def zones_detail(call: ComputeCall) -> HttpResponse:
    """The same with the hosts of each and their services."""
    services: dict[str, dict[str, Any]] = {}
    for row in services_with_is_up():
        services.setdefault(row.host, {})[row.binary] = {
            "available": bool(getattr(row, "is_up", False)),
            "active": not row.disabled,
            "updated_at": micro_seconds(row.last_seen_up),
        }
    return _answered(call, services)


def _answered(call: ComputeCall, services: dict[str, dict[str, Any]]) -> HttpResponse:
    shown = [
        {
            "zoneName": zone.name,
            "zoneState": {"available": zone.is_available},
            "hosts": {host: services[host] for host in zone.hosts if host in services} if services else None,
        }
        for zone in zone_list()
    ]
    return call.answer({"availabilityZoneInfo": shown})
