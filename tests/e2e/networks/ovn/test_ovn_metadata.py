"""Guests in networks of kind OVN ask the metadata service of their own host, each in its own name alone."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from computeagent.networks.ovn.plug import OvnPlug
from computeagent.protocol.networks import AddressPair, HostNetworks, HostPort, NetworkBackendKind
from servers.networks.ovn.objects.state import OvnPort
from tests.e2e.networks.ovn.test_ovn_plug import plug_of
from tests.worlds.bridge_place import Guest, new_id
from tests.worlds.frames import arp
from tests.worlds.guest_metadata import asks, reaches, service_of
from tests.worlds.ovn import NET_A, STATE, A, B, OvnWorld, guest_port, until

pytestmark = [pytest.mark.processes, pytest.mark.long]
SERVED = replace(A, subnets=(replace(A.subnets[0], metadata_address="10.9.0.2"),))
ME = replace(STATE.ports[0].port, instance_uuid=new_id())
OFF = guest_port("a9", NET_A, 99, "open", instance_uuid=new_id())
"""Another guest of this host, which is switched off: its address answers nobody."""
PAIRS = (AddressPair("10.9.0.98"), AddressPair("10.9.0.0/25"))
WITH_PAIRS, UNGUARDED = replace(ME, allowed_pairs=PAIRS), replace(ME, has_security=False)
WAYS = ("169.254.169.254", "10.9.0.2")
"""Addresses where the service listens."""
INSIST = """
import socket, sys, time
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW); s.bind(('eth0', 0))
while True: s.send(bytes.fromhex(sys.argv[1])); time.sleep(0.02)
"""


@pytest.fixture
def plug(ovn_world: OvnWorld) -> Iterator[OvnPlug]:
    found = plug_of(ovn_world.site.chassis[0])
    found.open()
    applied = found.apply(HostNetworks(1, NetworkBackendKind.OVN, networks=(SERVED, B), ports=(ME, OFF)))
    assert applied.problems == ()
    yield found
    inside(ovn_world).run("ip", "address", "del", "10.9.0.99/24", "dev", "eth0", check=False)
    inside(ovn_world).run("ip", "route", "del", "169.254.169.254", check=False)
    found.apply(HostNetworks(2, NetworkBackendKind.OVN))
    ovn_world.tell(STATE)


def inside(world: OvnWorld) -> Guest:
    return Guest(world["a1"].namespace, ME, ME.addresses[0].address, 24)


def tell(world: OvnWorld, me: HostPort) -> None:
    ports = (OvnPort(me, "hv1"), OvnPort(OFF, "hv1"), *STATE.ports[1:])
    world.tell(replace(STATE, networks=(SERVED, *STATE.networks[1:]), ports=ports))
    world.site.central.nb("--wait=hv", "sync")


@contextmanager
def saying_that_it_has(guest: Guest, address: str) -> Iterator[None]:
    """OVN answers for the one whose address it is; the thief says all the time that it is here."""
    said = arp(ME.mac, ME.mac, address, address, operation=2)
    process = guest.start(sys.executable, "-c", INSIST, said.hex())
    try:
        yield
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("way", ["own link", "router"])
@pytest.mark.parametrize("me", [WITH_PAIRS, UNGUARDED], ids=["pairs", "no port security"])
def test_nobody_asks_in_the_name_of_whose_address_it_may_send_from(
    ovn_world: OvnWorld, plug: OvnPlug, tmp_path: Path, me: HostPort, way: str
) -> None:
    tell(ovn_world, me)
    guest = inside(ovn_world)
    guest.run("ip", "address", "replace", "10.9.0.99/24", "dev", "eth0")
    if way == "own link":
        reaches(guest)
    service = service_of(plug, tmp_path / "state", ME, OFF)
    try:
        until(lambda: asks(guest, source="10.9.0.11")[0] == 200)
        with saying_that_it_has(guest, "10.9.0.99"):
            for address in WAYS:
                status, content = asks(guest, source="10.9.0.11", address=address)
                assert (status, json.loads(content)["uuid"]) == (200, ME.instance_uuid), address
                assert asks(guest, source="10.9.0.99", address=address) == (0, ""), address
    finally:
        service.close()
