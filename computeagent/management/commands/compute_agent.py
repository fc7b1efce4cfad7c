"""`manage.py compute_agent`: the agent of one hypervisor, on a machine that has the control plane's settings."""

import time
from argparse import ArgumentParser, Namespace
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from computeagent.conf import HostSettings
from computeagent.daemon.arguments import agent_arguments_add
from computeagent.daemon.program import agent_of_arguments, agent_serve, conductor_of_arguments
from controlplane.infra.conf import options_now
from controlplane.kernel.errors import KilonovaError
from servers.agent_api import SharedConnections, conductor_connect


class Command(BaseCommand):
    """Runs until SIGTERM or SIGINT (exit 0), or until one of its threads dies (exit 1: start it again)."""

    help = (
        "Run the agent of one hypervisor: register it, build and run its guests, report on them. With --control-plane "
        "it asks by HTTP, as `python -m computeagent` does on hypervisors; without, it works on this database."
    )
    # The web server's checks say nothing about a hypervisor, and an agent starts often.
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Options; every one has a default. That of --state is STATE_DIR/agents/<host>."""
        agent_arguments_add(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """Run until asked to stop."""
        given = Namespace(**options)
        given.state = given.state or settings.STATE_DIR / "agents" / given.host
        try:
            if given.control_plane:
                conductor = conductor_of_arguments(given, time.sleep)
            else:
                conductor = conductor_connect(SharedConnections())
            problem = agent_serve(agent_of_arguments(given, options_now(HostSettings), conductor))
        except KilonovaError as error:
            raise CommandError(error.message) from error
        raise CommandError(problem)
