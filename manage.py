#!/usr/bin/env python
"""Kilonova's command line: Django's, with the settings of this project."""

import os
import sys

from django.core.management import execute_from_command_line

from controlplane.audit_log.recording.commands import run_as_command
from controlplane.kernel.gc_pause import gc_pause


def choose_state(arguments: list[str]) -> None:
    """`--state DIR` decides where the settings look for everything, so it must be known before they load. They make
    the directory, which is for `up` alone to do.
    """
    command = arguments[1] if len(arguments) > 1 else ""
    if command in ("up", "down", "network_shell") and "--state" in arguments[:-1]:
        state = os.path.abspath(arguments[arguments.index("--state") + 1])
        if command == "up" or os.path.isdir(state):
            os.environ["KILONOVA_STATE"] = state


if __name__ == "__main__":
    gc_pause()  # until all apps are loaded: to look for garbage among what imports make takes a quarter of the start
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings.dev")
    choose_state(sys.argv)
    run_as_command((sys.argv[1:] or [""])[0], lambda: execute_from_command_line(sys.argv))
