"""How a process of the drill comes to life: `run` calls one of our programs by name, in this very process.

    python -m tests.drill.entry PROGRAM ARGUMENTS...

starts it from nothing; the process manager forks it from a process that has everything imported. The program cannot
tell.
"""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any


def run(program: str, arguments: Sequence[str]) -> int:
    """Call `package.module:function` with the arguments; its exit code."""
    module, _, function = program.partition(":")
    code = getattr(import_module(module), function)(list(arguments))
    return int(code or 0)


if __name__ == "__main__":
    sys.stdout.flush()
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    if os.environ.get("DJANGO_SETTINGS_MODULE"):  # an agent has none
        django: Any = import_module("django")
        django.setup()
    sys.exit(run(sys.argv[1], sys.argv[2:]))
