"""`kilonova-agent`, or `python -m computeagent`: the agent of one hypervisor, which needs an address and a secret and
nothing of Django.
"""

import os
import sys
import time
from pathlib import Path

from computeagent.conf import HostSettings
from computeagent.daemon.arguments import NO_CONTROL_PLANE, ConfigFileParser, agent_arguments_add
from computeagent.daemon.log_lines import log_to_stderr
from computeagent.daemon.program import agent_of_arguments, agent_serve, conductor_of_arguments, enrol_only
from controlplane.kernel.errors import KilonovaError
from controlplane.kernel.settings import options_from, settings_of

STATE = Path("/var/lib/kilonova/agent")


def main(arguments: list[str]) -> int:
    """Runs until SIGTERM or SIGINT (exit 0), or until one of its threads dies (exit 1: start it again).

    With --enrol-only it ends as soon as the host is enrolled (0), or is refused (1).
    """
    parser = ConfigFileParser(
        prog="kilonova-agent",
        description="Run the agent of one hypervisor: register it, build and run its guests, report on them. "
        "@FILE reads options from a file, one to a line: host = cmp-7.",
    )
    agent_arguments_add(parser)
    parser.add_argument(
        "--enrol-only", action="store_true", help="Trade the token for this host's secret and end: a service follows."
    )
    given = parser.parse_args(arguments)
    given.state = given.state or STATE
    if not given.control_plane:
        parser.error(NO_CONTROL_PLANE)
    try:
        log_to_stderr()
        settings = _settings()
        if given.enrol_only:
            enrol_only(given, time.sleep)
            return 0
        conductor = conductor_of_arguments(given, time.sleep)
        problem = agent_serve(agent_of_arguments(given, settings, conductor))
    except (KilonovaError, ValueError) as error:
        problem = error.message if isinstance(error, KilonovaError) else str(error)
    print(problem, file=sys.stderr)  # noqa: T201 - the end of a program that could not start
    return 1


def command() -> None:
    """The console script."""
    sys.exit(main(sys.argv[1:]))


def _settings() -> HostSettings:
    """From the environment, by the names that `docs/settings.md` has. Raises ValueError that names the setting."""
    values = {
        one.name: one.parse(os.environ[one.name]) if os.environ.get(one.name) else one.default
        for one in settings_of(HostSettings).values()
    }
    return options_from(HostSettings, values)


if __name__ == "__main__":
    command()
