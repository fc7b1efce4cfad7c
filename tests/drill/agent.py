"""The agent of one hypervisor as a drill runs it: the product's own agent, with short intervals and an open ear.

It is put together as `python -m computeagent` does it, and knows an address and a secret of its own host alone. Beside
it, a thread answers the harness what libvirt itself has (`guests`), which for simulated hosts nobody outside this
process could ask.
"""

import re
import sys
import threading
import xml.etree.ElementTree as ET
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

import libvirt

from computeagent.agent.options import AgentOptions
from computeagent.daemon.log_lines import log_to_stderr
from computeagent.daemon.program import agent_make, agent_serve
from computeagent.drivers.base import Driver
from computeagent.drivers.device_spec import parse_device_specs
from computeagent.drivers.factory import NO_OPTIONS, driver_open
from computeagent.drivers.host_options import HostOptions
from computeagent.networks.absent import NoPlug
from computeagent.networks.memory import MemoryPlug
from computeagent.protocol.guests import GuestSpec
from computeagent.transport.address import ControlPlaneAddress
from computeagent.transport.console_stream import console_dial
from computeagent.transport.http_conductor import http_conductor
from computeagent.transport.secret_file import SecretFile
from computeagent.volumes.base import VolumeBackend
from computeagent.volumes.factory import host_pools
from tests.drill.json_socket import serve_in_background
from tests.drill.names import DEVICE_SPEC, MEMORY_MIB, NETWORKS_FILE, OUTSIDE, OWN_POOL, POOL, own_pool
from tests.drill.simulated_consoles import EchoingConsoles

OPTIONS = AgentOptions(
    wakeup_wait_s=5.0,
    reconcile_interval_s=1.0,
    resource_interval_s=5.0,
    power_sync_interval_s=2.0,
    console_interval_s=5.0,
    images_interval_s=5.0,
    counters_interval_s=10.0,
    networks_interval_s=2.0,
    volumes_present_interval_s=2.0,
    unplug_timeout_s=2.0,
    shutdown_timeout_s=0.3,
    soft_reboot_timeout_s=0.3,
    shutdown_s=4.0,
)
CONSOLE_THREAD = re.compile("console-[0-9a-f]{8}$")
ANSWER_S = 5.0
"""How long an agent waits for an answer. Those that come at all come sooner, most of the time."""


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
            options=HostOptions(device_specs=parse_device_specs([DEVICE_SPEC]))
            if _is_simulated(arguments)
            else NO_OPTIONS,
        )
        self._driver = driver
        wrapped = _wrapped(driver, arguments.wrap)
        return EchoingConsoles(wrapped) if _is_simulated(arguments) else wrapped  # type: ignore[return-value]

    def answer(self, question: dict[str, Any]) -> Any:
        """{"ask": "guests"}: uuid, name, whether it runs and its devices, of each domain; None: the driver is not open.

        {"ask": "consoles"}: how many ways outward are open.

        {"ask": "orphan", "uuid": ...}: start a guest that no instance explains.

        {"ask": "crash", "uuid": ...}: have a simulated guest crash.
        """
        if question["ask"] == "consoles":
            return sum(bool(CONSOLE_THREAD.match(one.name)) for one in threading.enumerate())
        if self._driver is None:
            return None
        if question["ask"] == "orphan":
            return self._orphan(str(question["uuid"]))
        if question["ask"] == "crash":
            return self._crash(str(question["uuid"]))
        assert question["ask"] == "guests"
        domains = self._driver._connection.handle().listAllDomains(0)
        return [
            {"uuid": one.UUIDString(), "name": one.name(), "active": bool(one.isActive()), "devices": _devices(one)}
            for one in domains
        ]

    def _crash(self, guest_uuid: str) -> None:
        """As libvirt's simulated hosts can: by a dump. Raises libvirtError where it does not run any more."""
        with TemporaryDirectory() as directory:
            domain = self._driver._connection.handle().lookupByUUIDString(guest_uuid)
            domain.coreDump(f"{directory}/dump", libvirt.VIR_DUMP_CRASH)

    def _orphan(self, guest_uuid: str) -> str:
        sizes = {"vcpus": 1, "memory_mib": MEMORY_MIB, "root_gib": 1, "ephemeral_gib": 0, "swap_mib": 0}
        image = {"image_id": "", "image_checksum": "", "image_size_bytes": 0, "image_disk_format": "raw"}
        guest = GuestSpec(uuid=guest_uuid, name="orphan", project_id=guest_uuid, **sizes, **image)  # type: ignore[arg-type]
        return str(self._driver.spawn(guest).power_state)


def _devices(domain: Any) -> list[str]:
    """Addresses of the host's devices that the domain has."""
    root = ET.fromstring(domain.XMLDesc(0))  # noqa: S314 - libvirt's own
    found = root.iterfind("devices/*/source/address[@type='pci']")
    parts = [[int(one.get(part, "0"), 0) for part in ("domain", "bus", "slot", "function")] for one in found]
    return [f"{domain:04x}:{bus:02x}:{slot:02x}.{function:x}" for domain, bus, slot, function in parts]


def _is_simulated(arguments: Namespace) -> bool:
    return urlsplit(arguments.libvirt_uri).scheme == "test"


def _wrapped(driver: Driver, names: list[str]) -> Driver:
    for name in names:
        module, _, function = name.partition(":")
        wrap: Callable[[Driver], Driver] = getattr(import_module(module), function)
        driver = wrap(driver)
    return driver


def _pools(state: Path, shared: Path) -> Mapping[str, VolumeBackend]:
    """One of the host's own, and the one that all hosts share: files on a disk, also where guests are simulated."""
    texts = [f"{OWN_POOL}=file:{own_pool(state)}", f"{POOL}=shared-file:{shared}"]
    return host_pools(texts, state_dir=state).backends


def main(arguments: list[str]) -> int:
    """Run until SIGTERM."""
    parser = ArgumentParser()
    for name, kind in (
        ("host", str),
        ("control-plane", str),
        ("libvirt-uri", str),
        ("state", Path),
        ("image-cache", Path),
        ("control", Path),
        ("volumes", Path),
    ):
        parser.add_argument(f"--{name}", type=kind, required=True)
    for name in ("vcpus", "memory-mib", "disk-gib"):
        parser.add_argument(f"--{name}", type=int)
    parser.add_argument("--wrap", action="append", default=[])
    given = parser.parse_args(arguments)
    log_to_stderr()
    control = ControlSocket()
    serve_in_background(given.control, control.answer)
    address, secret = ControlPlaneAddress(given.control_plane, answer_s=ANSWER_S), SecretFile(given.state)
    conductor, dial = http_conductor(address, secret), partial(console_dial, address, secret)
    plug = MemoryPlug(given.state / "driver" / NETWORKS_FILE, [OUTSIDE]) if _is_simulated(given) else NoPlug()
    open_driver = partial(control.open, given)
    pools = _pools(given.state, given.volumes)
    agent = agent_make(
        given.host, given.state, open_driver, OPTIONS, conductor, plug=plug, pools=pools, dial_console=dial
    )
    print(agent_serve(agent), file=sys.stderr)
    return 1
