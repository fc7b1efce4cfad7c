"""`manage.py agent_revoke --host cmp-7`: the secret of a hypervisor is worth nothing from now on."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from controlplane.kernel.errors import KilonovaError
from servers.agent_api.credentials import credential_revoke


class Command(BaseCommand):
    """For a stolen or retired machine. Its instances stay; the agent may be enrolled again."""

    help = (
        "Revoke the secret of the agent of one host at once, and tokens for it; guests go on, and it may be enrolled "
        "again."
    )
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Which host."""
        parser.add_argument("--host", required=True, help="The host whose agent is to be locked out.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Revoke, or say why not."""
        try:
            credential_revoke(host=options["host"])
        except KilonovaError as error:
            raise CommandError(error.message) from error
        self.stdout.write(f"The secret of the agent of host {options['host']}, and tokens for it, are revoked.")
