"""Places where a drill may end this process by SIGKILL: KILONOVA_KILL_AT=<point>. Off by default."""

import os
import signal

KILL_AT = os.environ.get("KILONOVA_KILL_AT", "")


def reach(point: str) -> None:
    """Die here by SIGKILL if the drill named this point; otherwise nothing."""
    if KILL_AT and point == KILL_AT:
        os.kill(os.getpid(), signal.SIGKILL)
