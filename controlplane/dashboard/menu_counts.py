"""How much needs a look, by page of the menu: a few bounded counts, so that every page can show them."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from controlplane.identity.domain import Caller
from controlplane.identity.policy import allows
from controlplane.kernel.texts import gettext_noop
from scheduling.fleet.selectors.liveness import hosts_silent
from servers.instances.selectors.failed_instances import crashed, in_error, standing_still
from servers.instances.selectors.standing_work import standing
from servers.repair.domain.drift import DriftKind
from servers.repair.selectors.drift import drift_checks
from servers.volumes.selectors.volumes import volumes_visible

MAX_COUNTED = 100
"""Beyond this a number says no more than that it is many."""


@dataclass(frozen=True, slots=True)
class MenuCount:
    """`number` is at most MAX_COUNTED; `meaning` says of what, in English."""

    section: str
    number: int
    meaning: str

    @property
    def text(self) -> str:
        """As the menu has it; empty for none."""
        return f"{MAX_COUNTED - 1}+" if self.number >= MAX_COUNTED else str(self.number or "")


def menu_counts(caller: Caller, silent: Collection[str] | None = None) -> dict[str, MenuCount]:
    """{section: count} of the pages that the caller may open, by the rules of the overview. `silent` are the hosts that
    are down, where they are known already; six queries else, each of which stops at MAX_COUNTED rows of an index.
    """
    found = []
    if allows(caller, "instances:read"):
        found.append(MenuCount("instances", _instances(caller), gettext_noop("in error, crashed or standing still")))
    if allows(caller, "volumes:read"):
        rows = volumes_visible(caller).select_related(None).filter(state__startswith="error")
        found.append(MenuCount("volumes", _bounded(rows), gettext_noop("in error")))
    if allows(caller, "hosts:read") and allows(caller, "work:read"):
        down = hosts_silent() if silent is None else silent
        found.append(MenuCount("hosts", min(len(down), MAX_COUNTED), gettext_noop("down")))
        found.append(MenuCount("work", _bounded(standing(silent=down)), gettext_noop("overdue")))
    if allows(caller, "drift:read"):
        found.append(MenuCount("drift", min(_drifted(), MAX_COUNTED), gettext_noop("drifted")))
    return {one.section: one for one in found}


def _drifted() -> int:
    """Without crashed guests, which are counted as instances."""
    counts = [dict(check.counts) for check in drift_checks().values()]
    return sum(many for of in counts for kind, many in of.items() if kind != DriftKind.GUEST_CRASHED.value)


def _instances(caller: Caller) -> int:
    return min(MAX_COUNTED, sum(_bounded(of(caller=caller)) for of in (in_error, crashed, standing_still)))


def _bounded(rows: QuerySet[Any]) -> int:
    # To count them in the database takes a second statement around this one, which Django puts together for longer.
    return len(rows.order_by().values_list("pk", flat=True)[:MAX_COUNTED])
