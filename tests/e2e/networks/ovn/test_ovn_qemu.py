"""A live guest under QEMU in a network of kind OVN, by the tap that its host plugged."""

import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from computeagent.networks.base import NetworkPlace, Tap
from computeagent.networks.ovn.plug import OvnPlug
from computeagent.protocol.guests import PortSpec
from computeagent.protocol.networks import HostNetworks, NetworkBackendKind
from controlplane.launcher.demo_image.build import MIN_RAM_MIB, demo_image_build
from servers.networks.ovn.objects.state import OvnPort
from tests.fixtures.guests import config_drive
from tests.fixtures.processes import Processes
from tests.worlds.ovn import NET_A, STATE, A, OvnWorld, guest_port

pytestmark = [pytest.mark.processes, pytest.mark.qemu, pytest.mark.long]
BOOT_TIMEOUT_S = 400.0
LIVE = guest_port("5cf0e2f4-0000-4000-8000-000000000041", NET_A, 41, "open", hostname="live-1")
WITH_ADDRESS = replace(A, subnets=(replace(A.subnets[0], metadata_address="10.9.0.2"),))
"""This guest ignores the route to the metadata service that DHCP tells, so it asks its router for it."""
LOOK_AROUND = b"""#!/bin/sh
ip link set eth0 up
udhcpc -i eth0 -n -q -t 10 -T 1 -s /lib/udhcpc.sh
ip address show eth0
ping -c1 -W5 10.9.0.12 && echo neighbour was reached
ping -c1 -W5 203.0.113.1 && echo outside was reached
printf "GET / HTTP/1.0\\r\\n\\r\\n" | nc -w 5 169.254.169.254 80 | grep you.are && echo metadata was reached
echo looked around
"""
WEB = """
import socket
one = socket.create_server(("169.254.169.254", 80))
while True:
    client, address = one.accept()
    client.recv(4096)
    client.sendall(("HTTP/1.0 200 OK\\r\\n\\r\\nyou are " + address[0] + "\\n").encode())
    client.close()
"""


@pytest.fixture
def plugged(ovn_world: OvnWorld) -> Iterator[tuple[OvnPlug, Tap]]:
    chassis = ovn_world.site.chassis[0]
    networks = (WITH_ADDRESS, *STATE.networks[1:])
    ovn_world.tell(replace(STATE, networks=networks, ports=(*STATE.ports, OvnPort(LIVE, "hv1"))))
    place = NetworkPlace(
        prefix=("nsenter", f"--net=/run/netns/{chassis.namespace}"), namespace_prefix=chassis.namespace
    )
    plug = OvnPlug(place, "hv1", f"unix:{chassis.socket}")
    plug.open()
    plug.apply(HostNetworks(1, NetworkBackendKind.OVN, networks=(WITH_ADDRESS,), ports=(LIVE,)))
    yield plug, plug.plug(PortSpec(LIVE.mac, NET_A, id=LIVE.id, kind=NetworkBackendKind.OVN))
    plug.unplug(LIVE.id)
    plug.apply(HostNetworks(2, NetworkBackendKind.OVN))
    ovn_world.tell(STATE)


def test_live_guest_leases_reaches_its_network_outside_and_metadata(
    ovn_world: OvnWorld, plugged: tuple[OvnPlug, Tap], processes: Processes, tmp_path: Path
) -> None:
    plug, tap = plugged
    prefix = plug.service_prefix(NET_A)
    assert prefix is not None
    processes.start([*prefix, sys.executable, "-c", WEB])
    disk = demo_image_build(tmp_path)
    drive = config_drive(tmp_path / "drive.iso", meta_data={"uuid": "u", "name": "live"}, user_data=LOOK_AROUND)
    offloads = "csum=off,gso=off,host_tso4=off,host_tso6=off,host_ecn=off,host_ufo=off,guest_csum=off,guest_tso4=off"
    card = f"virtio-net-pci,netdev=n,mac={LIVE.mac},romfile=,host_mtu={tap.mtu}" + (
        "" if tap.has_offloads else f",{offloads},guest_tso6=off,guest_ecn=off,guest_ufo=off"
    )
    serial = tmp_path / "serial.log"
    processes.start(
        [
            *("nsenter", f"--net=/run/netns/{ovn_world.site.chassis[0].namespace}"),
            *("qemu-system-x86_64", "-machine", "pc,accel=tcg", "-m", str(MIN_RAM_MIB), "-display", "none"),
            *("-snapshot", "-drive", f"file={disk},if=virtio,format=qcow2"),
            *("-drive", f"file={drive},format=raw,readonly=on,media=cdrom", "-serial", f"file:{serial}"),
            *("-netdev", f"tap,id=n,ifname={tap.name},script=no,downscript=no,vhost=off", "-device", card),
        ]
    )

    def output() -> str:
        return serial.read_text(errors="replace").replace("\r", "") if serial.exists() else ""

    began = time.monotonic()
    while "\nlooked around" not in output() and time.monotonic() - began < BOOT_TIMEOUT_S:
        time.sleep(0.2)
    said = output()
    assert "\nlooked around" in said, said
    assert "inet 10.9.0.41/24" in said
    assert "mtu 1442" in said
    for reached in ("neighbour", "outside", "metadata"):
        assert f"\n{reached} was reached" in said, said
    assert "you are 10.9.0.41" in said
