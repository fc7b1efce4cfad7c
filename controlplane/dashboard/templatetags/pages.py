"""Small pieces of pages: a status as a pill, ages, durations and amounts for people, the frame's caller."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django import template
from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext

from controlplane.dashboard import texts
from controlplane.dashboard.django_admin.panel_pages import admin_path_of
from controlplane.dashboard.frame import frame
from controlplane.dashboard.instances.journey import labels
from controlplane.dashboard.menu import menu_of
from controlplane.dashboard.menu_counts import menu_counts
from controlplane.identity.selectors.own_projects import MAX_OFFERED
from controlplane.infra import reader_texts
from controlplane.infra.conf import page_options
from controlplane.infra.reader_time import Precision, time_text, zone_name, zone_text
from controlplane.kernel.texts import gettext_noop
from controlplane.kernel.units import amount_text, bytes_text, gib_text, mib_text, size_text
from servers.conf import server_options
from servers.instances.domain.soft_delete import ends_at
from servers.states import api_status

register = template.Library()

RESOURCE_NAMES = {"VCPU": gettext_noop("vCPUs"), "MEMORY_MB": gettext_noop("Memory"), "DISK_GB": gettext_noop("Disk")}
AGES = (
    (gettext_noop("%(number)s d ago"), 86400),
    (gettext_noop("%(number)s h ago"), 3600),
    (gettext_noop("%(number)s min ago"), 60),
    (gettext_noop("%(number)s s ago"), 1),
)
"""How long ago, by the seconds of each unit; the last is for the rest."""
STAGE_NAMES = {
    "request_filters": gettext_noop("Services up and enabled"),
    "placement": gettext_noop("Room in Placement"),
    "target": gettext_noop("Hosts asked for or ruled out"),
}


@register.inclusion_tag("components/status.html", takes_context=True)
def status_pill(context: template.Context, instance: Any) -> dict[str, Any]:
    """The API's status, and the task while there is one; on a host that is silent it is the last that was known."""
    task = instance.task_state.replace("_", " ").replace("-", " ")
    silent = (context.get("silent_hosts") or {}).get(instance.host) if instance.host else None
    return {"status": api_status(instance.vm_state, instance.task_state), "task": task, "silent": silent}


@register.simple_tag
def languages() -> list[tuple[str, str]]:
    """(code, name in its own words) of the languages that pages have. Django's own tag would translate the names."""
    return list(settings.LANGUAGES)


@register.simple_tag
def restorable(instance: Any) -> datetime | None:
    """Until when one that is soft-deleted can be restored."""
    return ends_at(instance.soft_deleted_at, server_options().reclaim_instance_interval_s)


@register.filter
def action_label(name: str) -> str:
    """An action of an instance, as its button has it."""
    return texts.translated(labels.action_label(name))


@register.simple_tag(takes_context=True)
def page_frame(context: template.RequestContext) -> dict[str, Any]:
    """What the header shows, also on pages that no view of ours rendered, such as a 404."""
    if "caller" in context and "projects" in context:
        shown = {"caller": context["caller"], "projects": context["projects"]}
    else:
        shown = frame(context.request) if getattr(context, "request", None) is not None else {}
    if getattr(context, "request", None) is not None:
        shown["admin_path"] = admin_path_of(context.request)
    shown["must_name_project"] = len(shown.get("projects", ())) > MAX_OFFERED
    shown["installation"] = page_options().installation_name
    shown["zone"] = zone_name()
    if caller := shown.get("caller"):
        counts = menu_counts(caller, context.get("silent_hosts"))
        shown["menu"] = menu_of(caller, str(context.get("section", "")), counts)
        shown["here"] = next((one.page.title for it in shown["menu"] for one in it.pages if one.is_current), "")
    return shown


@register.filter
def sentence(value: Any) -> str:
    """What the domain says of a value, in the reader's language: its `sentence` takes a translation (kernel.texts)."""
    return str(value.sentence(gettext))


@register.filter
def translated(text: Any) -> str:
    """A text of the domain that was marked with `gettext_noop`, or made as a phrase (kernel.texts), in the reader's
    language; any other text as it is.
    """
    return texts.translated(text)


@register.filter
def said(text: Any) -> Any:
    """A refusal or a reason that was stored, which are English, in the reader's language; of a list, each of them."""
    return [reader_texts.said(one) for one in text] if isinstance(text, list | tuple) else reader_texts.said(text)


@register.filter
def duration(seconds: float) -> str:
    """'340 ms', '2.4 s', '3 min 5 s', '2 min', '26 h', '7 d'."""
    if seconds < 1:
        return gettext("%(number)s ms") % {"number": f"{seconds * 1000:.0f}"}
    if seconds < 60:
        return gettext("%(number)s s") % {"number": f"{seconds:.1f}"}
    minutes, rest = divmod(int(seconds), 60)
    if minutes >= 48 * 60:
        return gettext("%(number)s d") % {"number": minutes // 1440}
    if minutes >= 120:
        return gettext("%(number)s h") % {"number": minutes // 60}
    if rest:
        return gettext("%(minutes)s min %(seconds)s s") % {"minutes": minutes, "seconds": rest}
    return gettext("%(number)s min") % {"number": minutes}


@register.filter
def nanoseconds(amount: int) -> str:
    """The same of nanoseconds."""
    return duration(amount / 1e9)


@register.filter
def age(at: datetime | None) -> str:
    """How long ago, in the largest fitting unit; 'never' for no time at all."""
    if at is None:
        return gettext("never")
    seconds = max(0, int((timezone.now() - at).total_seconds()))
    text, size = next((text, size) for text, size in AGES if seconds >= size or size == 1)
    return gettext(text) % {"number": seconds // size}


@register.filter
def moment(at: datetime | None, precision: Precision = "second") -> str:
    """A time in the reader's zone, which it names: to the second, the "minute", or the "clock" without its day."""
    return time_text(at, precision) if isinstance(at, datetime) else ""


@register.simple_tag
def now_text() -> str:
    """The time of now as pages write it."""
    return time_text(timezone.now(), "minute")


@register.simple_tag
def reader_zone_name() -> str:
    """The same by its name alone, for where there is little room."""
    return zone_name()


@register.simple_tag
def reader_zone() -> str:
    """The reader's zone in words: 'Europe/Berlin, UTC+1 now', or 'UTC'."""
    return zone_text(gettext)


@register.filter
def micros(value: int) -> str:
    """A duration in microseconds as people read it: "950 µs", "1.2 s"."""
    return duration(value / 1_000_000) if value >= 1000 else f"{value} µs"


@register.filter
def mib(value: int) -> str:
    """Memory: '640 MiB', '4 GiB', '255.5 GiB'."""
    return mib_text(value)


@register.filter
def gib(value: int) -> str:
    """Disk: '20 GiB', '12 TiB'."""
    return gib_text(value)


@register.filter
def bytes_amount(value: int) -> str:
    """'0 B', '640 MiB', '2.5 GiB'."""
    return bytes_text(value)


@register.filter
def size(one: Any) -> str:
    """The size of a flavor or an instance: '2 vCPU, 4 GiB memory, 20 GiB disk'."""
    found = one if isinstance(one, Mapping) else vars(one)
    size = size_text(vcpus=found["vcpus"], memory_mib=found["memory_mib"], root_gib=found["root_gib"])
    return size.sentence(gettext)


@register.filter
def amount(value: int | str, resource_class: str) -> str:
    """An amount of a resource class, or of a quota's unit, with its unit: '4', '640 MiB', '2,000 GiB'.

    A word in place of a number ("unlimited") is translated.
    """
    if isinstance(value, str):
        if not value.isdecimal():
            return texts.translated(value)
        value = int(value)
    return amount_text(value, resource_class)


@register.filter
def whole(value: float) -> int:
    """A measured number without its fraction."""
    return round(value)


@register.filter
def resource_name(resource_class: str) -> str:
    """A resource class in words; custom classes as they are spelled."""
    return gettext(RESOURCE_NAMES[resource_class]) if resource_class in RESOURCE_NAMES else resource_class


@register.filter
def stage_name(stage: str) -> str:
    """A stage of the scheduler in words; filters keep the name that the policy knows them by."""
    return gettext(STAGE_NAMES[stage]) if stage in STAGE_NAMES else stage


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
