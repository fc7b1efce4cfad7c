"""What network a guest gets: the one it asked for, or none; and what a guest without a network reaches."""

import base64
import http.server
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from computeagent.drivers.base import DriverError
from computeagent.drivers.libvirt.binding import libvirt
from computeagent.drivers.libvirt.networks import network_ready
from computeagent.protocol.guests import PortSpec
from computeagent.protocol.steps import FailureClass
from controlplane.launcher.demo_image.build import MIN_RAM_MIB, demo_image_build
from tests.e2e.drivers.conftest import IMAGE, Hypervisor
from tests.fixtures.patience import eventually

pytestmark = pytest.mark.libvirt

OPEN_VSWITCH_XML = (
    "<network><name>{}</name><forward mode='bridge'/><bridge name='br-int'/><virtualport type='openvswitch'/></network>"
)
LOOK_AROUND = """#!/bin/sh
ip link set eth0 up
udhcpc -i eth0 -n -q -s /lib/udhcpc.sh
printf "GET / HTTP/1.0\\r\\n\\r\\n" | nc -w 5 10.0.2.2 {port} | grep HTTP/1 && echo host was reached
echo looked around
"""


@pytest.fixture
def simulated() -> Iterator[Any]:
    conn = libvirt.open("test:///default")
    yield conn
    conn.close()


@pytest.fixture
def listener() -> Iterator[int]:
    """The port of a web server on this machine's loopback."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


def test_network_that_stands_still_is_started(simulated: Any) -> None:
    network = simulated.networkDefineXML(OPEN_VSWITCH_XML.format("sleeping"))

    assert network_ready(simulated, "sleeping", is_private=False).name == "sleeping"
    assert network.isActive()


def test_network_whose_cards_cannot_be_filtered_fails_the_build(simulated: Any) -> None:
    with pytest.raises(DriverError, match=r"network 'default' .*NWFilter") as caught:
        network_ready(simulated, "default", is_private=False)

    assert caught.value.failure_class is FailureClass.NETWORK


@pytest.mark.parametrize("is_private", [False, True])
def test_missing_network_fails_the_build_as_a_network_failure(simulated: Any, is_private: bool) -> None:
    with pytest.raises(DriverError, match=r"network 'tenant-7' .*: ") as caught:
        network_ready(simulated, "tenant-7", is_private=is_private)

    assert caught.value.failure_class is FailureClass.NETWORK


@pytest.mark.qemu
def test_guest_with_a_network_that_an_embedded_hypervisor_cannot_have_does_not_start(qemu: Hypervisor) -> None:
    guest = qemu.guest(ports=(PortSpec("52:54:00:00:00:01", "tenant-7"),))
    qemu.driver.prepare_image(guest, lambda: iter([IMAGE]))
    qemu.driver.prepare_disks(guest)

    with pytest.raises(DriverError, match="tenant-7") as caught:
        qemu.driver.spawn(guest)

    assert caught.value.failure_class is FailureClass.NETWORK
    assert qemu.driver.facts(guest.uuid) is None


@pytest.mark.qemu
@pytest.mark.processes
@pytest.mark.long
def test_guest_of_an_embedded_hypervisor_gets_an_address_and_does_not_reach_its_host(
    qemu: Hypervisor, listener: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    content = demo_image_build(tmp_path_factory.mktemp("demo")).read_bytes()
    script = LOOK_AROUND.format(port=listener).encode()
    guest = qemu.guest(
        content,
        memory_mib=MIN_RAM_MIB,
        image_disk_format="qcow2",
        user_data_base64=base64.b64encode(script).decode(),
    )
    qemu.build(guest, content)

    def output() -> str:
        return qemu.driver.console_log(guest.uuid, max_bytes=100_000).decode(errors="replace").replace("\r", "")

    eventually(lambda: "\nlooked around" in output(), output)
    assert "10.0.2.15" in output()
    assert "\nhost was reached" not in output()
