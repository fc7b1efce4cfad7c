"""When a host was disabled, enabled or declared dead: by whom, why, and for how long."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from controlplane.kernel.texts import gettext_noop


class SwitchKind(StrEnum):
    """What was said of a host. A new reason for a host that is disabled is a `disabled` of its own."""

    DISABLED = gettext_noop("disabled")
    ENABLED = gettext_noop("enabled")
    FORCED_DOWN = gettext_noop("forced down")
    FORCED_DOWN_END = gettext_noop("no longer forced down")


ENDED_BY = {SwitchKind.DISABLED: SwitchKind.ENABLED, SwitchKind.FORCED_DOWN: SwitchKind.FORCED_DOWN_END}


@dataclass(frozen=True, slots=True)
class HostSwitch:
    """One of them. `door` is where it came in; `ended_at` is when what it began was taken back."""

    at: datetime
    kind: SwitchKind
    by: str
    door: str
    reason: str = ""
    request_id: str = ""
    ended_at: datetime | None = None

    @property
    def lasted_s(self) -> float | None:
        """For how long it held, in seconds. None: it holds still, or it ended another one."""
        return None if self.ended_at is None else (self.ended_at - self.at).total_seconds()

    @property
    def holds(self) -> bool:
        """Whether it began something that nobody took back."""
        return self.kind in ENDED_BY and self.ended_at is None


def switches_ended(newest_first: Iterable[HostSwitch]) -> list[HostSwitch]:
    """The same, each with the moment of what took it back."""
    ends: dict[SwitchKind, datetime] = {}
    found = []
    for one in newest_first:
        opposite = ENDED_BY.get(one.kind)
        if opposite is None:
            ends[one.kind] = one.at
            found.append(one)
            continue
        found.append(
            HostSwitch(one.at, one.kind, one.by, one.door, one.reason, one.request_id, ended_at=ends.get(opposite))
        )
        # An earlier one of the same kind held until this one took its place.
        ends[opposite] = one.at
    return found
