"""`manage.py compute_agent`: the agent of one hypervisor, wired to this installation's control plane."""

import logging
import os
import re
import signal
import socket
import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from computeagent.agent.instance_lock import AgentAlreadyRunning
from computeagent.agent.loop import Agent
from computeagent.agent.options import AgentOptions
from computeagent.agent.ownership import HostRefused
from computeagent.conf import HostSettings
from computeagent.drivers.base import Driver, DriverError
from computeagent.drivers.factory import driver_open
from computeagent.drivers.host_options import HostOptions
from computeagent.management.host_settings import host_arguments_add, host_options
from controlplane.infra.conf import options_now
from controlplane.infra.request_id import request_id_scope
from controlplane.kernel.errors import Invalid
from servers.agent_api import SharedConnections, conductor_connect

# The queue's name is `compute.<host>`, in a column of 100 characters.
HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,91}")


class Command(BaseCommand):
    """Runs until SIGTERM or SIGINT (exit 0), or until one of its threads dies (exit 1: start it again)."""

    help = "Run the agent of one hypervisor: register it, build and run its guests, report on them."
    # The web server's checks say nothing about a hypervisor, and an agent starts often.
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Options; every one has a default."""
        parser.add_argument("--host", default=socket.gethostname(), help="Name of this host (default: hostname).")
        parser.add_argument("--libvirt-uri", default="qemu:///system", help="Hypervisor (default: qemu:///system).")
        parser.add_argument("--state", type=Path, help="Directory of this agent (default: STATE_DIR/agents/<host>).")
        parser.add_argument("--vcpus", type=_positive, help="vCPUs to report instead of the hypervisor's.")
        parser.add_argument("--memory-mib", type=_positive, help="Memory to report instead of the hypervisor's.")
        parser.add_argument("--disk-gib", type=_positive, help="Disk to report instead of the hypervisor's.")
        parser.add_argument(
            "--image-cache", type=Path, help="Directory of base images, may be shared by agents of one machine."
        )
        parser.add_argument("--nat-network", action="store_true", help="Make and start libvirt's default network.")
        parser.add_argument("--host-ip", default="127.0.0.1", help="Address of this host (default: 127.0.0.1).")
        parser.add_argument("--max-concurrent-builds", type=_positive, default=2, help="Builds at a time (default: 2).")
        parser.add_argument(
            "--keep-orphans", action="store_true", help="Never remove guests that no instance explains."
        )
        host_arguments_add(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """Run, and end the process at once: a thread may still hang in a call that does not come back."""
        host: str = options["host"]
        if HOST.fullmatch(host) is None:
            raise CommandError(f"{host!r} is no name for a host: letters, digits, '.', '_' and '-', at most 92")
        set_aside = _set_aside(options)
        state_dir = (options["state"] or settings.STATE_DIR / "agents" / host).absolute()
        agent_options = AgentOptions(
            max_concurrent_builds=options["max_concurrent_builds"], reap_orphans=not options["keep_orphans"]
        )
        agent_serve(agent_make(host, state_dir, _driver_source(host, state_dir, options, set_aside), agent_options))


def agent_make(host: str, state_dir: Path, open_driver: Callable[[], Driver], options: AgentOptions) -> Agent:
    """The agent of `host`, wired to this installation's control plane."""
    return Agent(
        host=host,
        conductor=conductor_connect(SharedConnections()),
        open_driver=open_driver,
        state_dir=state_dir,
        options=options,
        request_scope=request_id_scope,
    )


def agent_serve(agent: Agent) -> None:
    """Run until a signal asks to stop, and end the process. Raises CommandError when it cannot start."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: agent.stop())
    _exit_now(_run(agent))


def _run(agent: Agent) -> int:
    try:
        return agent.run()
    except (AgentAlreadyRunning, HostRefused, DriverError) as error:
        raise CommandError(error.message) from error


def _set_aside(options: dict[str, Any]) -> HostOptions:
    try:
        return host_options(options, options_now(HostSettings))
    except Invalid as error:
        raise CommandError(error.message) from error


def _driver_source(host: str, state_dir: Path, options: dict[str, Any], set_aside: HostOptions) -> Callable[[], Driver]:
    """Opens the driver when called; its files are apart from the agent's own."""
    return lambda: driver_open(
        options["libvirt_uri"],
        state_dir / "driver",
        host,
        vcpus=options["vcpus"],
        memory_mib=options["memory_mib"],
        disk_gib=options["disk_gib"],
        shared_dir=options["image_cache"],
        has_nat_network=options["nat_network"],
        host_ip=options["host_ip"],
        options=set_aside,
    )


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def _exit_now(code: int) -> None:
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
