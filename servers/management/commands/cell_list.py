"""`manage.py cell_list`: the cells, and how much is in each."""

from typing import Any

from django.core.management.base import BaseCommand

from scheduling.fleet.selectors.cells import cells_with_hosts
from servers.hosts.selectors.cells import instances_in_cells

ROW = "{:<20} {:<36} {:<8} {:>6} {:>10}"


class Command(BaseCommand):
    """One line for each."""

    help = "List the cells with their hosts and instances."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the table."""
        instances = instances_in_cells()
        self.stdout.write(ROW.format("name", "id", "new", "hosts", "instances"))
        for cell in cells_with_hosts():
            new = "no" if cell.disabled else "yes"
            hosts = vars(cell)["hosts"]  # annotated
            self.stdout.write(ROW.format(cell.name, str(cell.pk), new, hosts, instances.get(cell.pk, 0)))
