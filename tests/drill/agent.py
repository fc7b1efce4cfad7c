"""The agent of one hypervisor as a drill runs it: the product's own agent, with short intervals and an open ear.

It is put together as `manage.py compute_agent` does it. Beside it, a thread answers the harness what libvirt itself
has (`guests`), which for simulated hosts nobody outside this process could ask.
"""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from computeagent.agent.options import AgentOptions
from computeagent.daemon.program import agent_make, agent_serve
from computeagent.drivers.base import Driver
from computeagent.drivers.factory import driver_open
from servers.agent_api import SharedConnections, conductor_connect
from tests.drill.json_socket import serve_in_background

OPTIONS = AgentOptions(
    wakeup_wait_s=5.0,
    reconcile_interval_s=1.0,
    resource_interval_s=5.0,
    power_sync_interval_s=2.0,
    console_interval_s=5.0,
    stop_grace_s=0.3,
    soft_reboot_grace_s=0.3,
    shutdown_s=4.0,
)


class ControlSocket:
    """Keeps the opened driver, and tells what its hypervisor has."""

    def __init__(self) -> None:
        self._driver: Any = None

    def open(self, arguments: Namespace) -> Driver:
        """The product's driver, inside whatever a drill wraps around it."""
        driver = driver_open(
            arguments.libvirt_uri,
            arguments.state / "driver",
            arguments.host,
            vcpus=arguments.vcpus,
            memory_mib=arguments.memory_mib,
            disk_gib=arguments.disk_gib,
            shared_dir=arguments.image_cache,
        )
        self._driver = driver
        return _wrapped(driver, arguments.wrap)

    def answer(self, question: dict[str, Any]) -> Any:
        """{"ask": "guests"}: uuid, name and whether it runs, of each domain; None while the driver is not open."""
        assert question["ask"] == "guests"
        if self._driver is None:
            return None
        domains = self._driver._connection.handle().listAllDomains(0)
        return [{"uuid": one.UUIDString(), "name": one.name(), "active": bool(one.isActive())} for one in domains]


def _wrapped(driver: Driver, names: list[str]) -> Driver:
    for name in names:
        module, _, function = name.partition(":")
        wrap: Callable[[Driver], Driver] = getattr(import_module(module), function)
        driver = wrap(driver)
    return driver


def main(arguments: list[str]) -> int:
    """Run until SIGTERM."""
    parser = ArgumentParser()
    for name, kind in (("host", str), ("libvirt-uri", str), ("state", Path), ("image-cache", Path), ("control", Path)):
        parser.add_argument(f"--{name}", type=kind, required=True)
    for name in ("vcpus", "memory-mib", "disk-gib"):
        parser.add_argument(f"--{name}", type=int)
    parser.add_argument("--wrap", action="append", default=[])
    given = parser.parse_args(arguments)
    control = ControlSocket()
    serve_in_background(given.control, control.answer)
    conductor = conductor_connect(SharedConnections())
    problem = agent_serve(agent_make(given.host, given.state, lambda: control.open(given), OPTIONS, conductor))
    print(problem, file=sys.stderr)
    return 1
