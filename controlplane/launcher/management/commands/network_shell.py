"""`manage.py network_shell`: a shell where the hypervisors of this machine have their networks."""

import os
from argparse import REMAINDER, ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from computeagent.networks.places.commands import environment
from computeagent.networks.places.machine import MachineNetworks
from controlplane.launcher.hypervisors import networks_of


class Command(BaseCommand):
    """From it floating addresses and gateways are reached, also where the machine itself does not reach them."""

    help = __doc__
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="", help="a hypervisor, such as hv-1 (default: between them all)")
        parser.add_argument("--state", type=Path, help="directory of the installation (default: KILONOVA_STATE)")
        parser.add_argument("words", nargs=REMAINDER, metavar="COMMAND", help="what to run instead of a shell")

    def handle(self, *args: Any, **options: Any) -> None:
        """Become the shell, or the command."""
        state_dir = options["state"].expanduser().resolve() if options["state"] else settings.STATE_DIR
        machine = MachineNetworks(networks_of(state_dir))
        there = machine.namespaces()
        if not there:
            raise CommandError(f"no networks of {state_dir} are there: is `manage.py up` running?")
        if options["host"] not in there:
            known = ", ".join(sorted(filter(None, there)))
            raise CommandError(f"{options['host']} has no networks here. Those that have: {known}")
        words = options["words"] or [os.environ.get("SHELL", "/bin/sh")]
        command = [*machine.ground.prefix(there[options["host"]]), *words]
        try:
            os.execvpe(command[0], command, environment())  # noqa: S606 - a shell is what was asked for
        except OSError as error:
            raise CommandError(f"{command[0]}: {error.strerror}") from error
