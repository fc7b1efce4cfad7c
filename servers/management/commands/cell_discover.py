"""`manage.py cell_discover`: hosts that are in no cell get into one."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from controlplane.kernel.errors import KilonovaError
from scheduling.fleet.selectors.cells import cell_id_of
from scheduling.fleet.services.cells import host_map, hosts_discover


class Command(BaseCommand):
    """Hosts map themselves to cell1 when they register; this is for those that shall be elsewhere, or lost theirs."""

    help = "Map hosts that are in no cell to one; or, with --host, one host before it registers."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Which cell, and which host."""
        parser.add_argument("--cell", default="cell1", help="The name or the id of the cell (default: cell1).")
        parser.add_argument("--host", help="Only this host, which need not have registered yet.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Map and print who was mapped."""
        host, cell = options["host"], options["cell"]
        try:
            cell_id = cell_id_of(cell)
            if host:
                found = [host] if host_map(host=host, cell_id=cell_id) else []
            else:
                found = hosts_discover(cell_id=cell_id)
        except KilonovaError as error:
            raise CommandError(error.message) from error
        for name in found:
            self.stdout.write(f"Host {name} is in cell {cell} now.")
        if not found:
            self.stdout.write(
                f"Nothing to do: {f'host {host} is in cell {cell}' if host else 'every host has a cell'}."
            )
