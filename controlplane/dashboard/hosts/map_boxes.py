"""The map of the fleet as boxes: how wide each is, how warm, what it is called, and what the colours mean."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext

from controlplane.dashboard.capacity.table import limit_label
from controlplane.dashboard.templatetags.pages import amount, mib
from controlplane.kernel.texts import gettext_noop
from scheduling.fleet.domain.fleet_map import RESOURCE_CLASSES, Heat, MapGroup, MapHost
from servers.hosts.selectors.fleet_map import FleetMap

PARTS = (0.2, 0.4, 0.6, 0.8, 0.95)
"""A host that is so full is one step warmer; there are six steps."""
ROOMS = (32, 16, 8, 4, 1)
"""And so is one on which fewer than so many fit."""
WIDEST = 12
NAMES_UP_TO, MEDIUM_UP_TO = 80, 800
"""Up to so many hosts boxes have names in them, or are large enough for a finger."""
HEATS = {
    Heat.MEMORY: gettext_noop("Memory promised"),
    Heat.VCPUS: gettext_noop("vCPUs promised"),
    Heat.DISK: gettext_noop("Disk promised"),
    Heat.CPU: gettext_noop("CPU in use, as measured"),
}
CHOICES = {
    Heat.MEMORY: gettext_noop("Memory"),
    Heat.VCPUS: gettext_noop("vCPUs"),
    Heat.DISK: gettext_noop("Disk"),
    Heat.CPU: gettext_noop("CPU in use"),
}


@dataclass(frozen=True, slots=True)
class MapKey:
    """One colour of the key."""

    css: str
    text: str


@dataclass(frozen=True, slots=True)
class MapSection:
    """A group: its title, what is known of it in a sentence, and its boxes."""

    title: str
    facts: str
    boxes: SafeString


def map_density(count: int) -> str:
    """How large boxes are: large, medium or small."""
    return "large" if count <= NAMES_UP_TO else "medium" if count <= MEDIUM_UP_TO else "small"


def map_key(found: FleetMap) -> list[MapKey]:
    """What the colours mean; a colour that nothing has is left out."""
    if found.heat is Heat.FITS:
        texts = [
            gettext_noop("32 or more"),
            gettext_noop("16 to 31"),
            gettext_noop("8 to 15"),
            gettext_noop("4 to 7"),
            gettext_noop("1 to 3"),
            gettext_noop("none"),
        ]
    else:
        texts = [
            gettext_noop("below 20 %"),
            gettext_noop("20 to 40 %"),
            gettext_noop("40 to 60 %"),
            gettext_noop("60 to 80 %"),
            gettext_noop("80 to 95 %"),
            gettext_noop("95 % and more"),
        ]
    there = {state_css(one, found.heat) for one in found.hosts}
    marks = {"down": gettext_noop("down"), "off": gettext_noop("disabled"), "unknown": gettext_noop("not known")}
    steps = [MapKey(f"h{step}", gettext(text)) for step, text in enumerate(texts)]
    return steps + [
        MapKey(css, gettext(text)) for css, text in marks.items() if any(css in one.split() for one in there)
    ]


def map_sections(found: FleetMap, word: str) -> list[MapSection]:
    """The groups as sections; `word` is what they are groups of, in front of their names."""
    unit = _unit([one.memory_mib for one in found.hosts])
    has_names = map_density(len(found.hosts)) == "large"
    return [
        MapSection(
            title=_title(group.name, word),
            facts=group_facts(group, found),
            boxes=format_html_join("", "{}", ((_box(one, found, unit, has_names=has_names),) for one in group.hosts)),
        )
        for group in found.groups
    ]


def _title(name: str, word: str) -> str:
    if not name:
        return gettext("In no aggregate") if word == "Aggregate" else gettext("Fleet")
    return gettext("%(word)s %(name)s") % {"word": gettext(word), "name": name} if word else name


def group_facts(group: MapGroup, found: FleetMap) -> str:
    """How many hosts, how many of them take nothing, and how much there is."""
    number = len(group.hosts)
    facts = [ngettext("%(count)s host", "%(count)s hosts", number) % {"count": f"{number:,}"}]
    if group.down:
        facts.append(gettext("%(count)s down") % {"count": group.down})
    if group.disabled:
        facts.append(gettext("%(count)s disabled") % {"count": group.disabled})
    if found.heat is Heat.FITS:
        fits = {"count": f"{group.fits:,}", "flavor": found.flavor}
        facts.append(gettext("%(count)s more %(flavor)s fit") % fits)
    elif found.heat in RESOURCE_CLASSES and group.capacity:
        name = RESOURCE_CLASSES[found.heat]
        part = f"{100 * group.used / group.capacity:.0f} %"
        promised = {"used": amount(group.used, name), "total": amount(group.capacity, name), "part": part}
        facts.append(gettext("%(used)s of %(total)s promised (%(part)s)") % promised)
    return gettext(", ").join(facts)


def state_css(one: MapHost, heat: Heat) -> str:
    """The classes of its colour: a step, and whether it is down or disabled."""
    if not one.is_up:
        return "down"
    step = _step(one, heat)
    colour = "unknown" if step is None else f"h{step}"
    return f"{colour} off" if one.is_disabled else colour


def measure_text(one: MapHost, found: FleetMap) -> str:
    """Its measure in words: '78 %, 200 GiB of 256 GiB', '12 more m1.large fit'."""
    if found.heat is Heat.FITS:
        if one.fits is None:
            return gettext("room for %(flavor)s not counted") % {"flavor": found.flavor}
        template = (
            gettext("%(count)s or more more %(flavor)s")
            if one.fits_is_lower_bound
            else gettext("%(count)s more %(flavor)s")
        )
        more = template % {"count": f"{one.fits:,}", "flavor": found.flavor}
        if one.fits or not one.limit:
            return more
        return gettext("%(sentence)s: %(reason)s") % {"sentence": more, "reason": limit_label(one.limit)}
    if one.part is None:
        return gettext("not known")
    share = f"{100 * one.part:.0f} %"
    if one.used is None or one.capacity is None:
        return share
    name = RESOURCE_CLASSES[found.heat]
    amounts = {"share": share, "used": amount(one.used, name), "total": amount(one.capacity, name)}
    return gettext("%(share)s, %(used)s of %(total)s") % amounts


def short_measure(one: MapHost, heat: Heat) -> str:
    """The same as small as it can be."""
    if heat is Heat.FITS:
        return "?" if one.fits is None else f"{one.fits:,}{'+' if one.fits_is_lower_bound else ''}"
    return "?" if one.part is None else f"{100 * one.part:.0f} %"


def state_text(one: MapHost) -> str:
    """Up, or what it is besides."""
    if one.is_forced_down:
        return gettext("forced down")
    if one.is_disabled:
        return gettext("up, disabled") if one.is_up else gettext("down, disabled")
    return gettext("up") if one.is_up else gettext("down")


def _box(one: MapHost, found: FleetMap, unit: float, *, has_names: bool) -> SafeString:
    """A link. Its text, or where it has none its title, says all that its colour and its width say."""
    width = min(WIDEST, max(1, round(one.memory_mib / unit)))
    css = f"b w{width} {state_css(one, found.heat)}"
    path = quote(one.host, safe="")
    known = {
        "host": one.host,
        "state": state_text(one),
        "measure": measure_text(one, found),
        "memory": mib(one.memory_mib),
        "guests": one.running_guests,
    }
    plain = gettext("%(host)s: %(measure)s; %(memory)s, %(guests)s guests")
    other = gettext("%(host)s: %(state)s, %(measure)s; %(memory)s, %(guests)s guests")
    title = (plain if one.is_up and not one.is_disabled else other) % known
    if not has_names:
        return format_html('<a class="{}" href="/hosts/{}/" title="{}"></a>', css, path, title)
    short = state_text(one) if not one.is_up else short_measure(one, found.heat)
    return format_html(
        '<a class="{}" href="/hosts/{}/" title="{}"><b>{}</b><span>{}</span></a>', css, path, title, one.host, short
    )


def _step(one: MapHost, heat: Heat) -> int | None:
    if heat is Heat.FITS:
        fits = one.fits
        return None if fits is None else sum(fits < limit for limit in ROOMS)
    part = one.part
    return None if part is None else sum(part >= limit for limit in PARTS)


def _unit(sizes: Sequence[int]) -> float:
    """MiB of a box of the smallest width: the smallest host has two of them, and the largest WIDEST at most."""
    return max(1.0, min(sizes, default=1) / 2, max(sizes, default=1) / WIDEST)


SORTS: dict[str, Callable[[MapHost], float]] = {
    "heat": lambda one: -1.0 if one.part is None else one.part,
    "fits": lambda one: -1.0 if one.fits is None else float(one.fits),
    "memory": lambda one: float(one.memory_mib),
    "guests": lambda one: float(one.running_guests),
}
"""What the table is sorted by, beside the name; the largest first."""
