"""Run a command that is killed when its starter dies, however that happens.

    python die_with_parent.py STARTER_PID COMMAND...

A program of its own, because the kernel's promise (PR_SET_PDEATHSIG) must be asked for by the child itself, after
the fork, and running Python between fork and exec of a process with threads is not safe. It imports nothing of the
project.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Have the kernel kill this process when the one that forked it ends."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def main(starter: int, command: list[str]) -> None:
    """Become `command`; end quietly when the starter is gone already."""
    die_with_parent()
    if os.getppid() == starter:
        os.execvp(command[0], command)  # noqa: S606 - no shell is wanted here


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
