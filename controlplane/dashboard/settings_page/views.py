"""The page of settings: what counts, where it comes from, what it means. It changes nothing: the environment does."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from controlplane.dashboard.pages import filter_text, page, show
from controlplane.dashboard.texts import translated
from controlplane.identity.domain import Caller
from controlplane.settings.sources import SettingShown, settings_shown


@require_safe
@page("settings:read")
def settings_list(request: HttpRequest, caller: Caller) -> HttpResponse:
    """All of them by subject; with `?q=` those with these words, with `?only=set` those that somebody set."""
    search, only_set = filter_text(request, "q"), request.GET.get("only") == "set"
    everything = settings_shown()
    found = [one for one in everything if _matches(one, search) and (one.is_set or not only_set)]
    context = {
        "groups": _groups(found, is_narrowed=bool(search) or only_set),
        "found": len(found),
        "count": len(everything),
        "set_count": sum(one.is_set for one in everything),
        "search": search,
        "only_set": only_set,
        "module": settings.SETTINGS_MODULE,
    }
    return show(request, caller, "dashboard/settings.html", "settings", **context)


@dataclass(frozen=True, slots=True)
class SettingGroup:
    """The settings of one subject. Those of which somebody set something, or something was looked for, are open."""

    name: str
    rows: tuple[SettingShown, ...]
    set_count: int
    is_open: bool


def _groups(found: Sequence[SettingShown], *, is_narrowed: bool) -> list[SettingGroup]:
    groups: dict[str, list[SettingShown]] = {}
    for one in found:
        groups.setdefault(one.group, []).append(one)
    counts = {name: sum(one.is_set for one in rows) for name, rows in groups.items()}
    return [
        SettingGroup(name, tuple(rows), counts[name], is_narrowed or bool(counts[name]))
        for name, rows in groups.items()
    ]


def _matches(one: SettingShown, search: str) -> bool:
    text = f"{one.name} {one.meaning} {translated(one.meaning)} {one.value}".lower()
    return all(word in text for word in search.lower().split())
