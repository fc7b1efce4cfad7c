"""`manage.py cell_create --name rack-2`: one more cell, in the database that all share."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from controlplane.kernel.errors import KilonovaError
from scheduling.fleet.services.cells import cell_create


class Command(BaseCommand):
    """Hosts get into it by `cell_discover --cell NAME --host HOST` before they register."""

    help = "Make a cell; `cell_discover --cell NAME --host HOST` says which hosts will be in it."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Its name."""
        parser.add_argument("--name", required=True, help="The name of the cell.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Make it and print its id."""
        try:
            cell = cell_create(name=options["name"])
        except KilonovaError as error:
            raise CommandError(error.message) from error
        self.stdout.write(f"Cell {cell.name} is made: {cell.pk}")
