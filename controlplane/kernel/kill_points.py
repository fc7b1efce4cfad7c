"""Named places in the code where a drill makes the process die, hang or fail. Off, and free, in every other life.

The switch is the environment variable KILONOVA_DRILL of the process, read once when this module is imported: it names
a directory that only the drill writes to. No setting, no row and no request reaches it. Below the directory:

    seen/NAME    there is such a point: some process has passed it
    armed/NAME   what the first process that passes the point is to do there, once
    fired/NAME   it was done: "PID SESSION ACTION", written before it is done

`reach` claims an armed file by renaming it, so exactly one process acts.
"""

import errno
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

VARIABLE = "KILONOVA_DRILL"


class Injected(Exception):
    """A drill asked for a failure here. Whoever guards an external step turns it into that step's own error."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def file_name(point: str) -> str:
    """The point's name as the name of a file."""
    return point.replace("/", "_")


class KillPoints:
    """The points of one process, over one directory of a drill."""

    def __init__(self, directory: Path) -> None:
        self._armed = str(directory / "armed")
        self._fired = directory / "fired"
        self._seen_here = directory / "seen"
        self._known: set[str] = set()
        self._stands_aside = False

    def stand_aside(self) -> None:
        """No point any more, whatever is armed."""
        self._stands_aside = True

    def reach(self, point: str) -> None:
        """Do what is armed for `point`. Raises Injected or OSError when that is what was asked for."""
        if self._stands_aside:
            return
        if point not in self._known:
            # The driver of the drill learns of a point from the file of its name.
            self._known.add(point)
            self._seen_here.mkdir(parents=True, exist_ok=True)
            (self._seen_here / file_name(point)).touch()
        action = self._claim(file_name(point))
        if action:
            verb, _, argument = action.partition(" ")
            ACTIONS[verb](argument)

    def _claim(self, name: str) -> str:
        mine = f"{self._armed}/.{os.getpid()}-{threading.get_ident()}"
        try:
            os.rename(f"{self._armed}/{name}", mine)
        except FileNotFoundError:
            return ""
        action = Path(mine).read_text().strip()
        self._fired.mkdir(parents=True, exist_ok=True)
        Path(mine).write_text(f"{os.getpid()} {os.getsid(0)} {action}")
        os.replace(mine, self._fired / name)
        return action


def _kill(_argument: str) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _hang(argument: str) -> None:
    time.sleep(float(argument))


def _refuse(argument: str) -> None:
    raise Injected(argument or "refused by a drill")


def _disk_full(_argument: str) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


ACTIONS: Mapping[str, Callable[[str], None]] = {
    "kill": _kill,
    "hang": _hang,
    "refuse": _refuse,
    "enospc": _disk_full,
}


_DIRECTORY = os.environ.get(VARIABLE, "")
_POINTS = KillPoints(Path(_DIRECTORY)) if _DIRECTORY else None


def is_on() -> bool:
    """Whether this process takes part in a drill."""
    return _POINTS is not None


def stand_aside() -> None:
    """This process only watches the drill from now on: nothing is done to it."""
    if _POINTS is not None:
        _POINTS.stand_aside()


def reach(point: str) -> None:
    """The process is at `point` (`house.module.function:place`). Nothing, unless it takes part in a drill."""
    if _POINTS is not None:
        _POINTS.reach(point)
