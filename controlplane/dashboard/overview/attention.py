"""What needs a look now, an item for each kind of trouble: a title, the first few of what it is about, a next step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from controlplane.dashboard.overview.next_steps import failure_step, failure_title
from controlplane.dashboard.templatetags.pages import age
from controlplane.dashboard.texts import translated
from controlplane.dashboard.work.rows import kind_label
from controlplane.identity.domain import Caller
from controlplane.identity.selectors.people import project_names
from scheduling.fleet.selectors.disabled_hosts import hosts_disabled_by_failures
from scheduling.fleet.selectors.liveness import SilentHost
from scheduling.fleet.selectors.versions import agents_behind
from servers.catalog.selectors.quota_pressure import quota_pressures
from servers.instances.domain.state_reasons import reason_sentence
from servers.instances.selectors.failed_instances import FailureGroup, crashed, failure_groups, standing_still
from servers.instances.selectors.instances import latest_faults
from servers.instances.selectors.living import Living
from servers.instances.selectors.standing_work import StandingWork, standing_work
from servers.repair.domain.drift import KIND_LABELS, DriftKind
from servers.repair.selectors.drift import drift_checks

SHOWN = 5
BAD, WARN = "bad", "warn"


@dataclass(frozen=True, slots=True)
class Line:
    """One of what an item is about: a name that leads somewhere, and what is to be said of it."""

    name: str
    href: str
    note: str = ""
    used: int = 0
    limit: int = 0


@dataclass(frozen=True, slots=True)
class Item:
    """One kind of trouble. `count` is how much there is of it, `lines` are the first; `href` leads to all of it."""

    key: str
    tone: str
    title: str
    short: str
    count: int
    lines: tuple[Line, ...] = ()
    step: str = ""
    href: str = ""
    link: str = ""

    @property
    def more(self) -> int:
        """How many are not among the lines."""
        return max(0, self.count - len(self.lines)) if self.lines else 0


def attention(caller: Caller, counted: Living, silent: Mapping[str, SilentHost]) -> list[Item]:
    """All of it, the worst first. A constant number of queries."""
    items: list[Item | None] = []
    if caller.is_admin:
        items.append(_hosts_down(silent, counted))
    elif counted.unknown:
        items.append(_unknown(counted))
    items.append(_failures(caller))
    items += [_crashes(caller), _standing_still(caller)]
    if caller.is_admin:
        items += [_standing(standing_work(silent=silent)), _drift(), _failing_hosts()]
    items.append(_quotas(caller, counted))
    if caller.is_admin:
        items.append(_behind(silent))
    found = [one for one in items if one is not None]
    return sorted(found, key=lambda one: one.tone != BAD)


def instances_text(count: int) -> str:
    """'1 instance', '5,000 instances'."""
    return ngettext("%(number)s instance", "%(number)s instances", count) % {"number": f"{count:,}"}


def _hosts_down(silent: Mapping[str, SilentHost], counted: Living) -> Item | None:
    if not silent:
        return None
    by_load = sorted(silent.values(), key=lambda one: (-counted.unknown_by_host.get(one.host, 0), one.host))
    lines = tuple(_host_line(one, counted.unknown_by_host.get(one.host, 0)) for one in by_load[:SHOWN])
    number, unknown = f"{len(silent):,}", counted.unknown
    title = ngettext("%(number)s host is down", "%(number)s hosts are down", len(silent)) % {"number": number}
    if unknown:
        text = ngettext(
            "%(hosts)s, with %(number)s instance of which nothing is known",
            "%(hosts)s, with %(number)s instances of which nothing is known",
            unknown,
        )
        title = text % {"hosts": title, "number": f"{unknown:,}"}
    return Item(
        "hosts-down",
        BAD,
        title,
        ngettext("%(number)s host down", "%(number)s hosts down", len(silent)) % {"number": number},
        len(silent),
        lines,
        _("Start the agent again. Where the machine is dead for certain, force its service down."),
        "/hosts/?up=false",
        _("All hosts that are down"),
    )


def _host_line(one: SilentHost, instances: int) -> Line:
    parts = [_("last seen %(ago)s") % {"ago": age(one.since)} if one.since else _("never reported")]
    parts += [_("forced down")] if one.is_forced_down else []
    return Line(one.host, f"/hosts/{one.host}/", _(", ").join([*parts, instances_text(instances)]))


def _unknown(counted: Living) -> Item:
    count = counted.unknown
    title = ngettext(
        "%(number)s instance is on hosts that are silent: nothing is known of them now",
        "%(number)s instances are on hosts that are silent: nothing is known of them now",
        count,
    )
    short = ngettext("%(number)s instance unknown", "%(number)s instances unknown", count)
    number = {"number": f"{count:,}"}
    return Item("unknown", BAD, title % number, short % number, count)


def _failures(caller: Caller) -> Item | None:
    groups = failure_groups(caller=caller)
    if not groups:
        return None
    count = sum(len(group.instances) for group in groups)
    names = project_names({group.instances[0].project_id for group in groups}) if caller.is_admin else {}
    lines = tuple(_failure_line(group, names, caller) for group in groups[:SHOWN])
    everywhere = "&all_projects=1" if caller.is_admin else ""
    if any(group.was_built for group in groups):
        short = ngettext("%(number)s instance in error", "%(number)s instances in error", count)
    else:
        short = ngettext("%(number)s failed build", "%(number)s failed builds", count)
    short %= {"number": f"{count:,}"}
    title = ngettext("%(failed)s, for %(number)s reason", "%(failed)s, for %(number)s reasons", len(groups))
    return Item(
        "failed",
        BAD,
        title % {"failed": short, "number": f"{len(groups):,}"},
        short,
        len(lines),
        lines,
        href=f"/instances/?status=ERROR{everywhere}",
        link=_("All in error"),
    )


def _failure_line(group: FailureGroup, names: Mapping[UUID, str], caller: Caller) -> Line:
    first, count = group.instances[0], len(group.instances)
    said = first.name
    if count > 1:
        said = _("%(name)s and %(number)s more") % {"name": said, "number": count - 1}
    if first.project_id in names:
        said = _("%(name)s of %(project)s") % {"name": said, "project": names[first.project_id]}
    where = group.flavor
    if group.hosts and caller.is_admin:
        where = _("%(flavor)s on %(hosts)s") % {"flavor": where, "hosts": ", ".join(group.hosts[:3])}
    said = _("%(names)s, %(where)s, %(ago)s.") % {"names": said, "where": where, "ago": age(group.at)}
    is_decided = group.reason is not None and group.decision_id is not None
    href = f"/decisions/{group.decision_id}/#help" if is_decided else f"/instances/{first.id}/"
    title, step = failure_title(group, is_admin=caller.is_admin), failure_step(group, is_admin=caller.is_admin)
    return Line(title, href, f"{said} {step}")


def _crashes(caller: Caller) -> Item | None:
    rows = crashed(caller=caller)
    first = list(rows.only("id", "name", "host", "updated_at")[:SHOWN])
    if not first:
        return None
    count = rows.count()
    faults = latest_faults([one.pk for one in first])
    lines = tuple(_crash_line(one, faults.get(one.pk), caller) for one in first)
    step = _("Read its console log, then start it, or mark the crash as seen.")
    title = ngettext(
        "%(number)s guest crashed, and nobody has looked", "%(number)s guests crashed, and nobody has looked", count
    )
    short = ngettext("%(number)s crashed guest", "%(number)s crashed guests", count)
    number = {"number": f"{count:,}"}
    return Item("crashed", BAD, title % number, short % number, count, lines, step)


def _crash_line(one: Any, fault: Any, caller: Caller) -> Line:
    if fault is None:
        note = _("on %(host)s, ") % {"host": one.host} if caller.is_admin else ""
    elif caller.is_admin:
        note = _("on %(host)s, crashed %(ago)s") % {"host": one.host, "ago": age(fault.created_at)}
    else:
        note = _("crashed %(ago)s") % {"ago": age(fault.created_at)}
    return Line(one.name, f"/instances/{one.pk}/", note)


def _standing_still(caller: Caller) -> Item | None:
    rows = standing_still(caller=caller)
    first = list(rows.only("id", "name", "host", "vm_state", "power_state", "power_reason", "power_details")[:SHOWN])
    if not first:
        return None
    count = rows.count()
    lines = tuple(Line(one.name, f"/instances/{one.pk}/", _still_note(one, caller)) for one in first)
    step = _("Read its console log, and mend what is wrong with its disk; a hard reboot lets it run.")
    title = ngettext("%(number)s guest stands still by itself", "%(number)s guests stand still by themselves", count)
    short = ngettext("%(number)s guest that stands still", "%(number)s guests that stand still", count)
    number = {"number": f"{count:,}"}
    return Item("still", BAD, title % number, short % number, count, lines, step)


def _still_note(one: Any, caller: Caller) -> str:
    where = _("on %(host)s, ") % {"host": one.host} if caller.is_admin else ""
    return f"{where}{reason_sentence(one, _)}"


def _standing(found: Sequence[StandingWork]) -> Item | None:
    if not found:
        return None
    lines = tuple(Line(_work_name(one), f"/work/?subject={one.subject}", _why_standing(one)) for one in found[:SHOWN])
    title = ngettext("%(number)s piece of work stands still", "%(number)s pieces of work stand still", len(found))
    short = ngettext("%(number)s piece of work overdue", "%(number)s pieces of work overdue", len(found))
    number = {"number": f"{len(found):,}"}
    return Item(
        "work",
        BAD,
        title % number,
        short % number,
        len(found),
        lines,
        href="/work/",
        link=_("All open work"),
    )


def _work_name(one: StandingWork) -> str:
    return f"{translated(kind_label(one.kind))} {one.name}".strip()


def _why_standing(one: StandingWork) -> str:
    since = {"ago": age(one.asked_at)}
    if one.is_overdue:
        return _("past its deadline, asked for %(ago)s") % since
    if one.is_lapsed:
        worker = {"worker": one.host or _("its worker")}
        return _("%(worker)s took it and says nothing of it since, asked for %(ago)s") % (since | worker)
    return _("waits for %(host)s, which is silent, asked for %(ago)s") % {**since, "host": one.host}


def _drift() -> Item | None:
    counts: dict[str, int] = {}
    for check in drift_checks().values():
        counts |= check.counts
    counts.pop(DriftKind.GUEST_CRASHED.value, None)  # an item of its own
    total = sum(counts.values())
    if not total:
        return None
    ranked = sorted(counts.items(), key=lambda one: -one[1])
    lines = tuple(
        Line(_(KIND_LABELS[DriftKind(kind)]), f"/drift/?kind={kind}", f"{many:,}") for kind, many in ranked[:SHOWN]
    )
    title = ngettext(
        "%(number)s thing drifted: rows, guests and allocations do not agree",
        "%(number)s things drifted: rows, guests and allocations do not agree",
        total,
    )
    number = {"number": f"{total:,}"}
    short = _("%(number)s drifted") % number
    return Item("drift", WARN, title % number, short, len(counts), lines, href="/drift/", link=_("All drift"))


def _failing_hosts() -> Item | None:
    found = hosts_disabled_by_failures()
    if not found:
        return None
    lines = tuple(Line(one.host, f"/hosts/{one.host}/", one.reason) for one in found[:SHOWN])
    title = ngettext(
        "%(number)s host was disabled, for builds failed there",
        "%(number)s hosts were disabled, for builds failed there",
        len(found),
    )
    short = ngettext("%(number)s host disabled by failures", "%(number)s hosts disabled by failures", len(found))
    step = _("Mend the host, then enable it. It is enabled by itself once its failures are old.")
    number = {"number": f"{len(found):,}"}
    return Item("failing-hosts", WARN, title % number, short % number, len(found), lines, step)


def _quotas(caller: Caller, counted: Living) -> Item | None:
    near = quota_pressures(counted.used)
    if not near:
        return None
    lines = tuple(
        Line(
            f"{one.project}: {translated(one.resource)}",
            f"/projects/{one.project_id}/" if caller.is_admin else "",
            one.unit,
            one.used,
            one.limit,
        )
        for one in near[:SHOWN]
    )
    title = ngettext("%(number)s quota is near the end", "%(number)s quotas are near the end", len(near))
    short = ngettext("%(number)s quota near the end", "%(number)s quotas near the end", len(near))
    number = {"number": f"{len(near):,}"}
    return Item("quotas", WARN, title % number, short % number, len(near), lines)


def _behind(silent: Mapping[str, SilentHost]) -> Item | None:
    found = agents_behind(silent=silent)
    if not found.hosts:
        return None
    lines = tuple(
        Line(
            _("Agent %(version)s") % {"version": version},
            f"/hosts/versions/?agent_version={version}",
            ngettext("%(number)s host", "%(number)s hosts", many) % {"number": f"{many:,}"},
        )
        for version, many in found.versions[:SHOWN]
    )
    title = ngettext(
        "%(number)s agent lags behind %(newest)s, the newest",
        "%(number)s agents lag behind %(newest)s, the newest",
        found.hosts,
    )
    short = ngettext("%(number)s agent behind", "%(number)s agents behind", found.hosts)
    number = {"number": f"{found.hosts:,}"}
    return Item(
        "agents",
        WARN,
        title % {**number, "newest": found.newest},
        short % number,
        len(found.versions),
        lines,
        href="/hosts/versions/",
        link=_("All versions"),
    )
