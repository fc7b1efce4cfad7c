"""What people read of an instance whose host is silent. None of it names the host: its owner reads it, too."""

from datetime import UTC, datetime
from typing import Protocol

from controlplane.kernel.texts import phrase as _
from controlplane.kernel.texts import sentences


class Silence(Protocol):
    """Since when a host is silent (None: it never reported), and whether somebody declared it dead."""

    @property
    def since(self) -> datetime | None: ...
    @property
    def is_forced_down(self) -> bool: ...


def silence_notice(silence: Silence | None, power_state: str) -> str:
    """That nothing newer than `power_state` is known of it; empty where its host reports."""
    if silence is None:
        return ""
    known = _("The last that is known of it is {power_state}.", power_state=power_state)
    return sentences([_silent(silence), known])


def waits_notice(silence: Silence | None) -> str:
    """Why what was asked of it is not begun; empty where its host reports."""
    if silence is None:
        return ""
    if silence.is_forced_down:
        return _("It waits for its host, which was declared dead.")
    if silence.since is None:
        return _("It waits for its host, which has not reported yet.")
    return _("It waits for its host, which has not reported since {since}.", since=_moment(silence.since))


def _silent(silence: Silence) -> str:
    if silence.is_forced_down:
        return _("Its host was declared dead.")
    if silence.since is None:
        return _("Its host has not reported yet.")
    return _("Its host has not reported since {since}.", since=_moment(silence.since))


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
