"""`manage.py host_delete --host cmp-7`: a host that is gone for good is taken out of the books."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from controlplane.kernel.errors import KilonovaError
from servers.hosts.selectors.contents import removal_preview
from servers.hosts.services.removal import HostRemoved, host_remove


class Command(BaseCommand):
    """Refused with reasons while something hangs on the host; with --force it says what it leaves, and asks."""

    help = "Remove a host with its compute node, providers, memberships of aggregates and its agent's secret."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Which host, and how."""
        parser.add_argument("--host", required=True, help="The host to remove.")
        parser.add_argument(
            "--force", action="store_true", help="Remove a host that is forced down even with instances on it."
        )
        parser.add_argument("--yes", action="store_true", help="Do not ask before a removal by force.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Remove, or say why not."""
        host, force = options["host"], options["force"]
        try:
            if force and not options["yes"] and not self._is_meant(host):
                raise CommandError("Nothing was removed.")
            removed = host_remove(host=host, force=force)
        except KilonovaError as error:
            raise CommandError(error.message) from error
        self._say(removed)

    def _is_meant(self, host: str) -> bool:
        preview = removal_preview(host=host)
        if preview.obstacles_to_force:
            return True  # the refusal says why
        for sentence in preview.left_behind:
            self.stdout.write(sentence)
        return input(f"Type {host} to remove it by force: ").strip() == host

    def _say(self, removed: HostRemoved) -> None:
        within = f" and from the aggregates {', '.join(removed.aggregates)}" if removed.aggregates else ""
        self.stdout.write(f"Host {removed.host} is removed with {removed.providers} resource provider(s){within}.")
        if removed.work_ended:
            self.stdout.write(
                f"Work that ended: {removed.work_ended}, of these completed deletions: {removed.deletions}."
            )
        for one in removed.instances_left:
            self.stdout.write(f"left without a host: {one.id} {one.name}")
