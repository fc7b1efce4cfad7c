"""Small pieces of the pages of volumes."""

from collections.abc import Iterable, Mapping
from typing import Any

from django import template
from django.utils.translation import gettext

from controlplane.dashboard.templatetags.pages import amount
from controlplane.dashboard.volumes.words import state_look
from controlplane.kernel.texts import gettext_noop
from controlplane.kernel.units import bytes_text
from servers.volumes.domain.transitions import BACKUP_RESETTABLE, RESETTABLE, SNAPSHOT_RESETTABLE

register = template.Library()
BY_HAND = {"volume": RESETTABLE, "snapshot": SNAPSHOT_RESETTABLE, "backup": BACKUP_RESETTABLE}
_QOS = {
    "total_iops": ("", gettext_noop("%(amount)s requests")),
    "read_iops": ("", gettext_noop("%(amount)s reads")),
    "write_iops": ("", gettext_noop("%(amount)s writes")),
    "total_bytes": ("B", "%(amount)s"),
    "read_bytes": ("B", gettext_noop("%(amount)s read")),
    "write_bytes": ("B", gettext_noop("%(amount)s written")),
}


@register.filter
def state_pill_class(state: str) -> str:
    """good, busy, bad or warn."""
    return state_look(state)


@register.filter
def qos_words(limits: Mapping[str, Any]) -> str:
    """'500 requests, 100 MiB a second'; empty where there is no limit."""
    parts = []
    for name, (unit, words) in _QOS.items():
        if value := limits.get(name):
            parts.append(gettext(words) % {"amount": bytes_text(value) if unit else amount(value, "")})
    # A list of amounts, such as "500 requests, 100 MiB read".
    return gettext("%(amounts)s a second") % {"amounts": gettext(", ").join(parts)} if parts else ""


@register.filter
def pool_problems(hosts: Iterable[Any]) -> int:
    """How many of the hosts that reach a pool cannot use it now."""
    return sum(bool(one.problem) for one in hosts)


@register.simple_tag
def states_by_hand(kind: str) -> list[str]:
    """What an administrator may write over the state of a `volume`, a `snapshot` or a `backup`."""
    return sorted(state.value for state in BY_HAND[kind])
