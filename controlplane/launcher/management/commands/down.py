"""`manage.py down`: the end of an installation on this machine, guests included."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from controlplane.kernel.errors import KilonovaError
from controlplane.launcher.announcer import Announcer
from controlplane.launcher.down import down_run

GRACE_S = 10.0


class Command(BaseCommand):
    """Ends `manage.py up`, powers guests off, and ends their libvirt daemons. The next `up` starts what ran before."""

    help = __doc__
    # The database may not exist.
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--state", type=Path, help="directory of the installation (default: KILONOVA_STATE)")
        parser.add_argument("--keep-guests", action="store_true", help="let guests run on without their libvirtd")
        parser.add_argument(
            "--grace", type=float, default=GRACE_S, metavar="SECONDS", help="to power off by themselves (default: 10)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Return when all has ended."""
        state_dir = options["state"].expanduser().resolve() if options["state"] else settings.STATE_DIR
        if not state_dir.is_dir():
            raise CommandError(f"{state_dir} is no directory: nothing was started there")
        try:
            down_run(state_dir, Announcer(), grace_s=max(0.0, options["grace"]), keep_guests=options["keep_guests"])
        except KilonovaError as error:
            raise CommandError(error.message) from error
