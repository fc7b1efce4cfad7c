"""The request as filters of the Icehouse release took it: a mapping, `filter_properties`, in place of an object."""

import inspect
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from scheduling.domain.request.request_context import RequestContext
from scheduling.domain.request.request_spec import RequestSpecView

PARAMETER = "filter_properties"


def request_for(method: Callable[..., object], spec: RequestSpecView) -> RequestSpecView | dict[str, Any]:
    """What to hand to this method of a filter: the older form if its last parameter is named so, else the request."""
    return filter_properties(spec) if _takes_properties(getattr(method, "__func__", method)) else spec


@lru_cache(maxsize=256)
def _takes_properties(function: Callable[..., object]) -> bool:
    return PARAMETER in inspect.signature(function).parameters


def filter_properties(spec: RequestSpecView) -> dict[str, Any]:
    """Nova's keys; each caller gets a mapping of its own, which it may change."""
    request, flavor = spec.request, _instance_type(spec)
    group = spec.instance_group
    return {
        "context": RequestContext(request.project_id, request.user_id, request.request_id),
        "project_id": request.project_id,
        "request_spec": _request_spec(spec, flavor),
        "instance_type": flavor,
        "instance_uuids": list(request.instance_uuids),
        "scheduler_hints": {name: _hint(values) for name, values in request.hints.items()},
        "ignore_hosts": list(request.ignore_hosts),
        "force_hosts": list(request.force_hosts),
        "force_nodes": list(request.force_nodes),
        "retry": {"num_attempts": len(request.retry) + 1, "hosts": [list(pair) for pair in request.retry]},
        "group_hosts": set() if group is None else set(group.hosts),
        "group_policies": set() if group is None else {group.policy},
    }


def _instance_type(spec: RequestSpecView) -> dict[str, Any]:
    flavor = spec.flavor
    return {
        "flavorid": flavor.flavorid,
        "name": flavor.name,
        "vcpus": flavor.vcpus,
        "memory_mb": flavor.memory_mb,
        "root_gb": flavor.root_gb,
        "ephemeral_gb": flavor.ephemeral_gb,
        "swap": flavor.swap,
        "extra_specs": dict(flavor.extra_specs),
    }


def _request_spec(spec: RequestSpecView, flavor: dict[str, Any]) -> dict[str, Any]:
    image = spec.image
    return {
        "image": {
            "id": image.id,
            "name": image.name,
            "status": image.status,
            "disk_format": image.disk_format,
            "min_disk": image.min_disk,
            "min_ram": image.min_ram,
            "size": image.size_bytes,
            "properties": dict(image.properties),
        },
        "instance_properties": {
            "uuid": spec.instance_uuid,
            "project_id": spec.project_id,
            "user_id": spec.user_id,
            "availability_zone": spec.availability_zone,
            "image_ref": image.id,
            **{name: flavor[name] for name in ("vcpus", "memory_mb", "root_gb", "ephemeral_gb")},
        },
        "instance_type": flavor,
        "instance_uuids": list(spec.request.instance_uuids),
        "num_instances": spec.num_instances,
    }


def _hint(values: Sequence[str]) -> str | list[str]:
    """As it was sent: a single text by itself."""
    return values[0] if len(values) == 1 else list(values)
