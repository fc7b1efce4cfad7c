"""The newest picture of a guest's screen, and whether another one is under way."""

from dataclasses import dataclass
from datetime import datetime

from computeagent.protocol.work import WorkKind
from controlplane.infra.db import now_plus
from controlplane.work.work import open_work_of_kind
from servers.conf import server_options
from servers.models import Instance, Screenshot


@dataclass(frozen=True, slots=True)
class ScreenshotState:
    """`taken_at` is None where there is none, or it expired. `error`, for operators: why the last one was none."""

    is_waiting: bool
    taken_at: datetime | None
    png: bytes
    error: str

    @property
    def state(self) -> str:
        """waiting, taken, failed or none."""
        if self.is_waiting:
            return "waiting"
        return "none" if self.taken_at is None else "failed" if not self.png else "taken"


def screenshot_state(instance: Instance) -> ScreenshotState:
    """Two queries."""
    is_waiting = open_work_of_kind(subject=instance.pk, kind=WorkKind.SCREENSHOT) is not None
    alive = Screenshot.objects.filter(taken_at__gte=now_plus(-server_options().screenshot_retention_s))
    row = alive.filter(pk=instance.pk).first()
    if row is None:
        return ScreenshotState(is_waiting, None, b"", "")
    return ScreenshotState(is_waiting, row.taken_at, bytes(row.png), row.error)
