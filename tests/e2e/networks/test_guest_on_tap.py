"""A real guest on a tap: its agent has the port in force before it starts, it gets its address, and nothing stays."""

import base64
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from computeagent.agent.driver_guard import GuardedDriver
from computeagent.agent.networking import Networking
from computeagent.agent.retry import Retry
from computeagent.agent.volumes import HostVolumes
from computeagent.drivers.libvirt.driver import LibvirtDriver
from computeagent.drivers.libvirt.private.stop import private_daemon_stop
from computeagent.networks.base import tap_name
from computeagent.networks.bridge.plug import BridgePlug
from computeagent.networks.places.place import OwnNamespace
from computeagent.networks.places.probe import places_lack
from computeagent.protocol.guest_config import GuestConfig
from computeagent.protocol.guests import PortSpec
from computeagent.protocol.networks import HostNetworks, NetworkBackendKind
from controlplane.launcher.demo_image.build import MIN_RAM_MIB, demo_image_build
from tests.e2e.drivers.conftest import Hypervisor
from tests.fixtures.hypervisors import answers_known
from tests.fixtures.patience import eventually
from tests.units.computeagent.agent.conductor_double import ConductorDouble
from tests.worlds.bridge_place import OPEN, document, network, port_in, run

pytestmark = [pytest.mark.libvirt, pytest.mark.qemu, pytest.mark.processes, pytest.mark.long]

ASK = b"""#!/bin/sh
ip link set eth0 up
udhcpc -i eth0 -n -q -s /lib/udhcpc.sh
ip -4 address show dev eth0 | grep inet
echo asked
"""


@pytest.fixture
def place(qemu_answers: Path) -> Iterator[tuple[Path, OwnNamespace]]:
    """A directory for a hypervisor, and where its networks are."""
    if os.geteuid() != 0:
        pytest.skip("only root makes network namespaces on the machine itself")
    if lack := places_lack():
        pytest.skip(f"missing: {lack}")
    with tempfile.TemporaryDirectory(prefix="kn-") as directory:
        state = Path(directory)
        state.chmod(0o711)
        answers_known(qemu_answers, state)
        place = OwnNamespace(state / "networks", "hv-1")
        try:
            yield state, place
        finally:
            private_daemon_stop(state / "hv", cache=state / "libvirt", grace_s=0, keep_guests=False)
            BridgePlug(place.ensure(), state / "files").apply(HostNetworks(revision=9))
            place._machine.remove()


def test_guest_gets_its_address_on_its_tap(
    place: tuple[Path, OwnNamespace], tmp_path_factory: pytest.TempPathFactory
) -> None:
    state, namespace = place
    content = demo_image_build(tmp_path_factory.mktemp("demo")).read_bytes()
    of = network("10.57.0.0/24", mtu=1400)
    port = port_in(of, "10.57.0.5", hostname="web-1", group_ids=(OPEN.id,))
    conductor = ConductorDouble()
    conductor.host_networks = document([of], [port], revision=1)
    plug = BridgePlug(namespace.ensure(), state / "files")
    retry = Retry(stopping=lambda: True, pause=time.sleep)
    volumes = HostVolumes(host="hv-1", conductor=conductor, pools={}, retry=retry, state_file=state / "volumes.json")
    networking = Networking(
        host="hv-1",
        conductor=conductor,
        plug=plug,
        retry=retry,
        clock=time.monotonic,
        interval_s=30.0,
    )
    networking.open()
    libvirt = LibvirtDriver(f"qemu:///private?root={state / 'hv'}", state, "node", place=namespace)
    libvirt.open()
    driver = GuardedDriver(lambda: libvirt, networking, volumes)
    driver.open()
    card = PortSpec(port.mac, of.id, id=port.id, kind=NetworkBackendKind.BRIDGE, network_name="blue")
    guest = Hypervisor("qemu", libvirt, state).guest(
        content,
        memory_mib=MIN_RAM_MIB,
        image_disk_format="qcow2",
        ports=(card,),
        user_data_base64=base64.b64encode(ASK).decode(),
        config=GuestConfig(has_drive=True),
    )
    driver.prepare_image(guest, lambda: iter([content]))
    driver.prepare_disks(guest)
    driver.spawn(guest)

    def said() -> str:
        return driver.console_log(guest.uuid, max_bytes=65536).decode(errors="replace").replace("\r", "")

    prefix, tap = namespace.ensure().prefix, tap_name(port.id)
    eventually(lambda: "\nasked" in said(), said)
    assert "inet 10.57.0.5/24" in said()
    link = run(*prefix, "ip", "link", "show", "dev", tap).stdout
    assert "mtu 1400" in link
    assert "LOWER_UP" in link  # QEMU holds it
    networking.tick("1")
    assert conductor.networks_told[-1].active_ports == (port.id,)

    driver.hard_reboot(guest)
    eventually(lambda: said().count("\nasked") == 2, said)

    driver.destroy(guest.uuid)
    assert run(*prefix, "ip", "link", "show", "dev", tap, check=False).returncode != 0
    conductor.host_networks = document([], [], revision=2)
    networking.tick("1")
    left = run(*prefix, "ip", "-o", "link", "show").stdout
    assert not [name for name in ("knb", "kns", "tp") if f" {name}" in left], left
    driver.close()
