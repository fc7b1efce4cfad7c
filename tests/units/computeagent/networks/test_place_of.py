"""Which place a hypervisor's networks have, and a host that cannot carry any."""

import os
from pathlib import Path

import pytest

from computeagent.networks.base import NetworkAbilities, NetworkError, NetworkPlace
from computeagent.networks.memory import MemoryPlug
from computeagent.networks.placed import PlacedPlug
from computeagent.networks.places.place import (
    MachinePlace,
    OwnNamespace,
    PlaceOptions,
    bridge_mappings_parse,
    place_of,
)
from computeagent.protocol.networks import HostNetworks, HostPort, NetworkBackendKind

IS_ROOT = os.geteuid() == 0


@pytest.mark.skipif(not IS_ROOT, reason="the machine's own networks are root's")
def test_production_host_has_the_machine_for_itself() -> None:
    options = PlaceOptions(bridge_mappings=(("public", "br-ex"),), underlay_address="192.0.2.7")

    place = place_of("qemu:///system", "hv-7", options)

    assert place.holds(1)
    assert place.ensure() == NetworkPlace(underlay_address="192.0.2.7", bridge_mappings={"public": "br-ex"})


def test_private_hypervisor_has_a_namespace_where_several_share_a_machine(tmp_path: Path) -> None:
    place = place_of("qemu:///private?root=/x", "hv-1", PlaceOptions(directory=tmp_path))

    assert isinstance(place, OwnNamespace)
    assert not place.holds(os.getpid())


@pytest.mark.parametrize(
    ("uri", "why"),
    [
        ("qemu:///embed?root=/x", "embedded hypervisor"),
        ("qemu:///session", "an ordinary user's"),
        ("qemu+ssh://other/system", "not a hypervisor of this machine"),
    ],
)
def test_hypervisors_that_carry_none_say_why(uri: str, why: str) -> None:
    with pytest.raises(NetworkError, match=why):
        place_of(uri, "h", PlaceOptions())


def test_bridge_mappings_as_neutron_has_them() -> None:
    assert bridge_mappings_parse("") == ()
    assert bridge_mappings_parse("public:br-ex, storage : br-st,") == (("public", "br-ex"), ("storage", "br-st"))


@pytest.mark.parametrize("text", ["public", "public:", ":br-ex", "public:a-bridge-too-long", "a:../b", "a:x,a:y"])
def test_bridge_mappings_that_say_nothing_are_refused(text: str) -> None:
    with pytest.raises(NetworkError, match="mapp"):
        bridge_mappings_parse(text)


class Plug(MemoryPlug):
    """One that is missing something until it is installed."""

    lack = "no nft"

    def open(self) -> None:
        if self.lack:
            raise NetworkError(self.lack)


def test_host_that_lacks_something_says_so_and_carries_none_until_it_is_there() -> None:
    made = Plug()
    placed = PlacedPlug(MachinePlace(NetworkPlace()), lambda _place: made)
    document = HostNetworks(revision=3, ports=(HostPort(id="p", network_id="n", mac="m"),))

    placed.open()

    assert placed.abilities() == NetworkAbilities(lack="no nft")
    assert [problem.message for problem in placed.apply(document).problems] == ["This host carries no networks: no nft"]

    made.lack = ""
    assert placed.apply(document).problems == ()
    assert NetworkBackendKind.BRIDGE in placed.abilities().kinds
