"""The hosts of the editor as check boxes: a page of those that match, each with its zone and what becomes of it."""

from dataclasses import dataclass
from uuid import UUID

from django.core.paginator import Page, Paginator
from django.utils.translation import gettext, ngettext

from controlplane.dashboard.aggregates.editor import AggregateEditor
from controlplane.kernel.texts import gettext_noop
from scheduling.fleet.selectors.aggregates import hosts_mapped, zones_elsewhere
from scheduling.fleet.services.aggregates import MAX_HOSTS_AT_ONCE

PAGE_SIZE = 60


@dataclass(frozen=True, slots=True)
class HostBox:
    """One check box. `change`: what saving does to the host, or nothing. `elsewhere`: an aggregate and its zone."""

    host: str
    is_ticked: bool
    change: str
    elsewhere: tuple[str, str] | None


@dataclass(frozen=True, slots=True)
class HostPicker:
    """A page of boxes. `shown` are their hosts in one text, which the form sends back."""

    page: "Page[str]"
    boxes: list[HostBox]

    @property
    def shown(self) -> str:
        """The names of this page's hosts."""
        return "\n".join(one.host for one in self.boxes)


def host_picker(editor: AggregateEditor, aggregate_id: UUID | None = None) -> HostPicker:
    """The page that the editor is at. Three queries, whatever the fleet."""
    rows = hosts_mapped(search=editor.search, within=editor.within).values_list("host", flat=True)
    page = Paginator(rows, PAGE_SIZE).get_page(editor.page)
    hosts = list(page.object_list)
    around = zones_elsewhere(hosts=hosts, aggregate_id=aggregate_id)
    boxes = [HostBox(host, editor.has(host), _change(editor, host), around.get(host)) for host in hosts]
    return HostPicker(page, boxes)


def tick_matching(editor: AggregateEditor, *, is_in: bool) -> str:
    """Tick, or untick, every host that matches the filter, on all pages; what was done, in words."""
    rows = hosts_mapped(search=editor.search, within=editor.within).values_list("host", flat=True)
    hosts = list(rows[: MAX_HOSTS_AT_ONCE + 1])
    if len(hosts) > MAX_HOSTS_AT_ONCE:
        said = gettext("More than %(most)s hosts match, and no more can change at once: narrow the filter.")
        return said % {"most": MAX_HOSTS_AT_ONCE}
    editor.tick(hosts, is_in=is_in)
    count = len(hosts)
    ticked = ngettext("%(count)s host ticked.", "%(count)s hosts ticked.", count)
    unticked = ngettext("%(count)s host unticked.", "%(count)s hosts unticked.", count)
    return (ticked if is_in else unticked) % {"count": count}


def _change(editor: AggregateEditor, host: str) -> str:
    if host in editor.added:
        return gettext_noop("comes in")
    return gettext_noop("goes out") if host in editor.removed else ""
