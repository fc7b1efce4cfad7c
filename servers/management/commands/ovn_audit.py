"""`manage.py ovn_audit`: does OVN have what rows here say, and nothing else of ours? With --heal: have it put right."""

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from controlplane.kernel.errors import KilonovaError
from servers.networks.services.ovn_changes import ovn_whole_request


class Command(BaseCommand):
    """Prints what differs, and what is not told yet. Ends with status 0 when there is nothing, 1 when there is."""

    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        """See --help."""
        parser.add_argument("--heal", action="store_true", help="ask the conductor to put it right now")

    def handle(self, *args: Any, **options: Any) -> None:
        """Compare once."""
        # Here alone: ovsdbapp is no part of other commands.
        from servers.networks.ovn.audit import ovn_audit  # noqa: PLC0415

        try:
            found = ovn_audit()
        except KilonovaError as error:
            raise CommandError(error.message) from error
        for line in (*found.differences, *found.waiting):
            self.stdout.write(line)
        self.stdout.write(
            f"{found.rows} rows are wanted; {len(found.differences)} differ, {len(found.waiting)} changes wait."
        )
        if not (found.differences or found.waiting):
            return
        if options["heal"]:
            ovn_whole_request()
            self.stdout.write("The conductor was asked to compare everything and to put it right.")
        sys.exit(1)
