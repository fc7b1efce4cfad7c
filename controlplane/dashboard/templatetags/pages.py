"""Small pieces of pages: a status as a pill, ages, durations and amounts for people, the frame's caller."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django import template
from django.utils import timezone

from controlplane.dashboard.frame import frame
from controlplane.dashboard.instances.journey import labels
from servers.conf import server_options
from servers.instances.domain.soft_delete import restorable_until
from servers.states import api_status

register = template.Library()

RESOURCE_NAMES = {"VCPU": "vCPUs", "MEMORY_MB": "Memory", "DISK_GB": "Disk"}
# Above this, memory reads better in GiB.
MIB_SHOWN_UP_TO = 8191
STAGE_NAMES = {
    "request_filters": "Services up and enabled",
    "placement": "Room in Placement",
    "target": "Hosts asked for or ruled out",
}


@register.inclusion_tag("components/status.html")
def status_pill(instance: Any) -> dict[str, str]:
    """The API's status, and the task while there is one."""
    task = instance.task_state.replace("_", " ").replace("-", " ")
    return {"status": api_status(instance.vm_state, instance.task_state), "task": task}


@register.simple_tag
def restorable(instance: Any) -> datetime | None:
    """Until when one that is soft-deleted can be restored."""
    return restorable_until(instance.soft_deleted_at, server_options().reclaim_instance_interval_s)


@register.filter
def action_label(name: str) -> str:
    """An action of an instance, as its button has it."""
    return labels.action_label(name)


@register.simple_tag(takes_context=True)
def page_frame(context: template.RequestContext) -> dict[str, Any]:
    """What the header shows, also on pages that no view of ours rendered, such as a 404."""
    if "caller" in context and "projects" in context:
        return {"caller": context["caller"], "projects": context["projects"]}
    return frame(context.request) if getattr(context, "request", None) is not None else {}


@register.filter
def duration(seconds: float) -> str:
    """'340 ms', '2.4 s', '3 min 5 s', '2 min', '26 h', '7 d'."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    if minutes >= 48 * 60:
        return f"{minutes // 1440} d"
    if minutes >= 120:
        return f"{minutes // 60} h"
    return f"{minutes} min {rest} s" if rest else f"{minutes} min"


@register.filter
def age(at: datetime | None) -> str:
    """How long ago, in the largest fitting unit; 'never' for no time at all."""
    if at is None:
        return "never"
    seconds = max(0, int((timezone.now() - at).total_seconds()))
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds // size} {unit} ago"
    return f"{seconds} s ago"


@register.filter
def micros(value: int) -> str:
    """A duration in microseconds as people read it: "950 µs", "1.2 s"."""
    return duration(value / 1_000_000) if value >= 1000 else f"{value} µs"


@register.filter
def mib(value: int) -> str:
    """Memory: '640 MiB', '255.5 GiB'."""
    if abs(value) <= MIB_SHOWN_UP_TO:
        return f"{value} MiB"
    return f"{value / 1024:,.1f}".removesuffix(".0") + " GiB"


@register.filter
def amount(value: int | str, resource_class: str) -> str:
    """An amount of a resource class, or of a quota's unit, with its unit: '4', '640 MiB', '2,000 GiB'.

    A word in place of a number ("unlimited") stays.
    """
    if isinstance(value, str):
        if not value.isdecimal():
            return value
        value = int(value)
    if resource_class in {"MEMORY_MB", "MiB"}:
        return mib(value)
    return f"{value:,} GiB" if resource_class == "DISK_GB" else f"{value:,}"


@register.filter
def resource_name(resource_class: str) -> str:
    """A resource class in words; custom classes as they are spelled."""
    return RESOURCE_NAMES.get(resource_class, resource_class)


@register.filter
def stage_name(stage: str) -> str:
    """A stage of the scheduler in words; filters keep the name that the policy knows them by."""
    return STAGE_NAMES.get(stage, stage)


@register.filter
def hypervisor_version(value: int) -> str:
    """Libvirt's number as people write it: 7002001 is 7.2.1."""
    return f"{value // 1_000_000}.{value // 1000 % 1000}.{value % 1000}"


@register.filter
def percent(part: float) -> str:
    """A part of 1 in percent, to four digits: '10 %', '12.5 %', '33.33 %'."""
    return f"{part * 100:.4g} %"


@register.filter
def points(difference: float) -> str:
    """A difference of scores, to three places, with its sign: '+0.25', '-1.5', '0'."""
    return f"{difference:+.3f}".rstrip("0").rstrip(".") if abs(difference) >= 0.0005 else "0"


@register.filter
def lookup(mapping: Mapping[Any, Any], key: Any) -> Any:
    """The entry of a mapping, empty when there is none."""
    return mapping.get(key, "")
