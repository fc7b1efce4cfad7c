"""`manage.py agent_enrol --host cmp-7`: the one command that makes a machine a hypervisor of this cloud."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from computeagent.transport.address import ControlPlaneAddress
from controlplane.kernel.errors import KilonovaError
from servers.agent_api.credentials import credential_of_host, enrolment_command, enrolment_create


class Command(BaseCommand):
    """Prints a command with a one-time token. Whoever runs it within an hour is the agent of that host."""

    help = (
        "Print the command that enrols the agent of one host: its token works once, for an hour, for that name alone."
    )
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The host, and where the control plane is for it."""
        parser.add_argument("--host", required=True, help="The name that the hypervisor gets.")
        parser.add_argument(
            "--url", default="https://CONTROL-PLANE", help="Address of this control plane as the hypervisor reaches it."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Make the token and print the command."""
        try:
            ControlPlaneAddress(options["url"])
            enrolment = enrolment_create(host=options["host"])
        except KilonovaError as error:
            raise CommandError(error.message) from error
        self.stdout.write(enrolment_command(enrolment, options["url"]))
        self.stderr.write(f"The token works once, for host {enrolment.host}, until {enrolment.expires_at:%H:%M %Z}.")
        known = credential_of_host(enrolment.host)
        if known is not None and known.revoked_at is None:
            self.stderr.write(f"Host {known.host} has an agent already: its secret ends when the token is used.")
