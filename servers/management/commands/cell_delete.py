"""`manage.py cell_delete --cell rack-2`: a cell that nobody is in goes."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from controlplane.kernel.errors import KilonovaError
from scheduling.fleet.selectors.cells import cell_id_of
from servers.hosts.services.cells import cell_delete


class Command(BaseCommand):
    """Refused for cell0 and cell1, and while hosts or instances are in it."""

    help = "Delete a cell that has no hosts and no instances."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Which cell."""
        parser.add_argument("--cell", required=True, help="The name or the id of the cell.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Delete it, or say why not."""
        try:
            cell_delete(cell_id=cell_id_of(options["cell"]))
        except KilonovaError as error:
            raise CommandError(error.message) from error
        self.stdout.write(f"Cell {options['cell']} is deleted.")
