"""`manage.py host_force_down --host cmp-7`: the word of a fencing device or an operator that a host is dead."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from controlplane.kernel.errors import KilonovaError
from scheduling.fleet.services.service_states import service_force_down


class Command(BaseCommand):
    """The host counts as down at once, whatever its agent says, until --undo."""

    help = "Declare a host dead: it counts as down at once, until the same command with --undo."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Which host, and which way."""
        parser.add_argument("--host", required=True, help="The host that is dead.")
        parser.add_argument("--undo", action="store_true", help="Take it back: the host is up when its agent is.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Say it, or why not."""
        host, is_dead = options["host"], not options["undo"]
        try:
            service_force_down(host=host, forced_down=is_dead)
        except KilonovaError as error:
            raise CommandError(error.message) from error
        self.stdout.write(f"Host {host} is {'forced down' if is_dead else 'no longer forced down'}.")
