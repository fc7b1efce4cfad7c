"""`manage.py web`: the web server."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from controlplane.kernel.errors import KilonovaError
from controlplane.launcher.web.processes import WebServerOptions, web_run

OPTIONS = {
    "processes": ("--processes", "processes, as many as the machine has cores for"),
    "threads": ("--threads", "threads of each that serve requests"),
    "connections": ("--connections", "connections of each"),
    "keep_alive_s": ("--keep-alive", "seconds for which a connection may be silent between two requests"),
    "grace_s": ("--grace", "seconds that requests have to end in when it stops"),
}
"""The option of each of `WebServerOptions`, and of what it is a number."""


class Command(BaseCommand):
    """Serves pages, APIs and the agents' door, until SIGTERM or Ctrl-C."""

    help = __doc__
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        default = WebServerOptions()
        parser.add_argument("--bind", default="127.0.0.1:8000", help="address and port (default: 127.0.0.1:8000)")
        for field, (option, of_what) in OPTIONS.items():
            value = getattr(default, field)
            parser.add_argument(option, dest=field, type=int, default=value, help=f"{of_what} (default: {value})")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run until a signal asks it to end."""
        host, _, port = options["bind"].rpartition(":")
        if not host or not port.isdecimal():
            raise CommandError(f"--bind must be an address and a port, such as 127.0.0.1:8000, not {options['bind']}")
        try:
            web_run(WebServerOptions(host.strip("[]"), int(port), **{field: options[field] for field in OPTIONS}))
        except KilonovaError as error:
            raise CommandError(error.message) from error
        except OSError as error:
            raise CommandError(f"{options['bind']} cannot be listened on: {error.strerror}") from error
