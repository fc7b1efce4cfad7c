"""Are we fine? One line."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from controlplane.dashboard.overview.attention import BAD, Item, instances_text

MAX_NAMED = 3


@dataclass(frozen=True, slots=True)
class Verdict:
    """`tone` is good, warn or bad; `text` is the answer, `details` what it rests on."""

    tone: str
    text: str
    details: str


def verdict(items: Sequence[Item], *, hosts_up: int | None, instances: int) -> Verdict:
    """From what needs a look. `hosts_up` None: the caller sees no hosts."""
    wrong = [one for one in items if one.tone == BAD]
    where = instances_text(instances)
    if hosts_up is not None:
        text = ngettext("%(number)s host up, %(instances)s", "%(number)s hosts up, %(instances)s", hosts_up)
        where = text % {"number": f"{hosts_up:,}", "instances": where}
    if wrong:
        return Verdict("bad", _("Not fine: %(items)s.") % {"items": _named(wrong)}, where)
    if items:
        return Verdict("warn", _("Running, with something to look at: %(items)s.") % {"items": _named(items)}, where)
    return Verdict("good", _("All is well."), where)


def _named(items: Sequence[Item]) -> str:
    named = [one.short for one in items[:MAX_NAMED]]
    more = len(items) - len(named)
    text = _(", ").join(named)
    return _("%(items)s, and %(number)s more") % {"items": text, "number": more} if more else text
