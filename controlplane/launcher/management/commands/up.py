"""`manage.py up`: a whole installation on this machine."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from controlplane.kernel.errors import KilonovaError
from controlplane.launcher.announcer import Announcer
from controlplane.launcher.options import HypervisorKind, UpOptions
from controlplane.launcher.run import start_over, up_run


class Command(BaseCommand):
    """Prepares what is missing, starts web server, conductor and agents, and stops them on Ctrl-C or SIGTERM."""

    help = __doc__
    # The database may not exist yet, and every child runs the checks again.
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--state", type=Path, help="directory of all that is written (default: KILONOVA_STATE)")
        parser.add_argument("--port", type=int, default=8000, help="TCP port on 127.0.0.1 (default: 8000)")
        parser.add_argument(
            "--hypervisors", type=int, default=3, help="how many, each with an agent; 0: none here (default: 3)"
        )
        parser.add_argument(
            "--driver",
            type=HypervisorKind,
            choices=list(HypervisorKind),
            help="qemu: real guests; test: libvirt's simulated hosts; fake: no libvirt (default: the first that works)",
        )
        parser.add_argument("--workers", type=int, default=2, help="processes of the conductor (default: 2)")
        parser.add_argument(
            "--admin-password-file",
            type=Path,
            help="the first line becomes the new admin's password; a file that does not exist gets the one made up",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Run until a signal asks it to end."""
        state_dir = options["state"].expanduser().resolve() if options["state"] else settings.STATE_DIR
        if state_dir != settings.STATE_DIR:
            start_over(state_dir)
        try:
            choices = UpOptions(
                state_dir=state_dir,
                port=options["port"],
                hypervisors=options["hypervisors"],
                kind=options["driver"],
                workers=options["workers"],
                admin_password_file=options["admin_password_file"],
            )
            up_run(choices, Announcer())
        except KilonovaError as error:
            raise CommandError(error.message) from error
