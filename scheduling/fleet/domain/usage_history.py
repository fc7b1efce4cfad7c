"""How far back the history of a host goes, and how finely."""

from dataclasses import dataclass

from controlplane.kernel.errors import Invalid
from controlplane.kernel.texts import phrase as _

MINUTE_S, HOUR_S, DAY_S = 60, 3600, 86400


@dataclass(frozen=True, slots=True)
class HistorySpan:
    """So many `slots` of `step_s` seconds, after which the first is written over."""

    name: str
    step_s: int
    slots: int

    @property
    def seconds(self) -> int:
        """How far back it goes."""
        return self.step_s * self.slots

    def slot(self, at_s: int) -> int:
        """Where the sample of this moment goes."""
        return at_s // self.step_s % self.slots


SPANS = {each.name: each for each in (HistorySpan("day", 5 * MINUTE_S, 288), HistorySpan("month", HOUR_S, 720))}


def history_span(name: str) -> HistorySpan:
    """Raises Invalid."""
    if name not in SPANS:
        raise Invalid(_("span is day or month."), field="span")
    return SPANS[name]
