"""What a person does with `manage.py`: recorded under the name of the login on the server."""

import getpass
import socket
from collections.abc import Callable

from controlplane.audit_log.recording.actor_scope import COMMAND, Actor, ActorScope, actor_scope

PROGRAMS = frozenset({"conductor", "compute_agent", "runserver", "up", "down", "migrate", "test"})
"""Commands that are parts of the installation, and no act of a person."""


def run_as_command(name: str, run: Callable[[], object]) -> None:
    """Run the command; what it changes is recorded, but for PROGRAMS."""
    if name in PROGRAMS:
        run()
        return
    scope = ActorScope(COMMAND, find_actor=_login)
    with actor_scope(scope):
        try:
            run()
        finally:
            if scope.refusals:
                # The models, which only a service that refused has loaded for certain.
                from controlplane.audit_log.recording.record import refusals_write  # noqa: PLC0415

                refusals_write()


def _login() -> Actor:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a uid without a name
        user = "unknown"
    return Actor(f"{user}@{socket.gethostname()}")
