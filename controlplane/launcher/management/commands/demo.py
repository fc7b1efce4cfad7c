"""`manage.py demo`: a large simulated fleet to look at pages with."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from controlplane.kernel.errors import KilonovaError
from controlplane.launcher.announcer import Announcer
from controlplane.launcher.demo.run import DemoOptions, demo_run
from controlplane.launcher.run import start_over


class Command(BaseCommand):
    """Fills an empty state directory with hosts, instances, people and a history, and serves it until Ctrl-C."""

    help = __doc__
    # The database may not exist yet.
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--state", type=Path, required=True, help="directory of its own for all that is written")
        parser.add_argument("--hosts", type=int, default=500, help="how many (default: 500)")
        parser.add_argument("--instances", type=int, default=5000, help="how many (default: 5000)")
        parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same fleet (default: 1)")
        parser.add_argument("--port", type=int, default=8000, help="TCP port on 127.0.0.1 (default: 8000)")
        parser.add_argument("--no-serve", action="store_true", help="only fill it")
        parser.add_argument(
            "--admin-password-file",
            type=Path,
            help="its first line becomes the password of admin and of all users; made up if there is no such file",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Fill what is not filled yet, then serve."""
        state_dir = options["state"].expanduser().resolve()
        if state_dir != settings.STATE_DIR:
            start_over(state_dir)
        choices = DemoOptions(
            state_dir=state_dir,
            hosts=options["hosts"],
            instances=options["instances"],
            seed=options["seed"],
            port=options["port"],
            is_served=not options["no_serve"],
            admin_password_file=options["admin_password_file"] or state_dir / "admin-password",
        )
        try:
            demo_run(choices, Announcer())
        except KilonovaError as error:
            raise CommandError(error.message) from error
