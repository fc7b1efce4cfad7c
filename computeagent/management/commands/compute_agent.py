"""`manage.py compute_agent`: the agent of one hypervisor, by the name that Nova has for it."""

import time
from argparse import ArgumentParser, Namespace
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from computeagent.conf import HostSettings
from computeagent.daemon.arguments import NO_CONTROL_PLANE, agent_arguments_add
from computeagent.daemon.program import agent_of_arguments, agent_serve, conductor_of_arguments
from controlplane.infra.conf import options_now
from controlplane.kernel.errors import KilonovaError
from controlplane.kernel.state_parts import StatePart


class Command(BaseCommand):
    """Runs until SIGTERM or SIGINT (exit 0), or until one of its threads dies (exit 1: start it again).

    It never asks the database of this machine: what it needs of the control plane it gets by HTTP.
    """

    help = (
        "Run the agent of one hypervisor: register it, build and run its guests, report on them. It is what `python -m "
        "computeagent` runs on hypervisors, with this machine's settings: state below KILONOVA_STATE, and what is set "
        "aside of the host."
    )
    # The web server's checks say nothing about a hypervisor, and an agent starts often.
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Options; that of --state is STATE_DIR/agents/<host> if none is given."""
        agent_arguments_add(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """Run until asked to stop."""
        given = Namespace(**options)
        if not given.control_plane:
            raise CommandError(NO_CONTROL_PLANE)
        given.state = given.state or settings.STATE_DIR / StatePart.AGENTS / given.host
        try:
            conductor = conductor_of_arguments(given, time.sleep)
            problem = agent_serve(agent_of_arguments(given, options_now(HostSettings), conductor))
        except KilonovaError as error:
            raise CommandError(error.message) from error
        raise CommandError(problem)
