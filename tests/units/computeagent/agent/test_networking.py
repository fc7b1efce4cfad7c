"""Networks of a host at its agent: fetched when they changed, in force before a guest starts, told when they differ."""

import threading
import uuid
from dataclasses import replace

import pytest

from computeagent.agent.networking import WHOLE_EVERY_S, Networking
from computeagent.agent.retry import Retry
from computeagent.drivers.base import DriverError
from computeagent.networks.base import tap_name
from computeagent.networks.memory import MemoryPlug
from computeagent.protocol.guests import GuestSpec, PortSpec
from computeagent.protocol.networks import HostNetworks, HostPort, NetworkBackendKind, NetworksApplied, NetworkSpec
from computeagent.protocol.steps import FailureClass
from computeagent.protocol.work import HostWakeup, WorkKind
from tests.fixtures.patience import PATIENCE_S, eventually
from tests.units.computeagent.agent.conductor_double import ConductorDouble
from tests.units.computeagent.agent.conftest import World, guest_spec

NET, PORT, OTHER = (str(uuid.uuid4()) for _ in range(3))
MAC = "fa:16:3e:00:00:01"


def document(revision: int, *ports: str, instance: str = "") -> HostNetworks:
    return HostNetworks(
        revision,
        networks=(NetworkSpec(NET, mtu=1400),),
        ports=tuple(HostPort(port, NET, MAC, instance_uuid=instance) for port in ports),
    )


def guest_with(*ports: str) -> GuestSpec:
    cards = (PortSpec(MAC, NET, id=port, kind=NetworkBackendKind.BRIDGE, network_name="blue") for port in ports)
    return replace(guest_spec(), ports=tuple(cards))


class Parts:
    """Networking by hand, with a clock that stands still."""

    def __init__(self) -> None:
        self.conductor, self.plug, self.now = ConductorDouble(), MemoryPlug(), 1000.0
        self.networking = Networking(
            host="h1",
            conductor=self.conductor,
            plug=self.plug,
            retry=Retry(stopping=lambda: True, pause=lambda _seconds: None),
            clock=lambda: self.now,
            interval_s=30.0,
        )

    def tick(self) -> None:
        self.networking.tick("1")


@pytest.fixture
def parts() -> Parts:
    return Parts()


def test_tick_has_the_document_in_force_and_tells_it_once(parts: Parts) -> None:
    parts.conductor.host_networks = document(3, PORT)
    parts.tick()
    parts.tick()
    assert parts.plug.document.revision == 3
    assert parts.conductor.networks_asked == [-1, 3]
    assert [told.revision for told in parts.conductor.networks_told] == [3]


def test_document_is_fetched_whole_now_and_then(parts: Parts) -> None:
    parts.tick()
    parts.now += WHOLE_EVERY_S
    parts.tick()
    assert parts.conductor.networks_asked == [-1, -1]
    assert len(parts.conductor.networks_told) == 2


def test_what_somebody_changed_here_is_put_right_after_a_while(parts: Parts) -> None:
    parts.conductor.host_networks = document(3, PORT)
    parts.tick()
    parts.plug.apply(document(1))
    parts.now += 30
    parts.tick()
    assert parts.plug.document.revision == 3


def test_control_plane_of_the_release_before_is_asked_no_more(parts: Parts) -> None:
    parts.conductor.knows_networks = False
    parts.tick()
    parts.tick()
    assert parts.conductor.networks_asked == [-1]
    parts.networking.tick("2")
    assert len(parts.conductor.networks_asked) == 2


def test_port_is_fetched_applied_and_plugged_before_its_guest_starts(parts: Parts) -> None:
    parts.tick()
    parts.conductor.host_networks = document(4, PORT)
    (card,) = parts.networking.plugged(guest_with(PORT)).ports
    assert (card.tap, card.mtu, card.has_offloads) == (tap_name(PORT), 1400, True)
    assert parts.plug.taps == {PORT}
    assert parts.networking.changed.is_set()
    parts.tick()
    assert parts.conductor.networks_told[-1].active_ports == (PORT,)


def test_known_port_is_plugged_without_asking_and_a_plugged_one_is_left(parts: Parts) -> None:
    parts.conductor.host_networks = document(4, PORT)
    parts.tick()
    guest = parts.networking.plugged(guest_with(PORT))
    assert len(parts.conductor.networks_asked) == 1
    parts.plug.faults[PORT] = "not again"
    assert parts.networking.plugged(guest) is guest


def test_guest_in_its_hypervisors_network_needs_nothing(parts: Parts) -> None:
    guest = replace(guest_spec(), ports=(PortSpec(MAC, "default"),))
    assert parts.networking.plugged(guest) is guest
    assert parts.conductor.networks_asked == []


@pytest.mark.parametrize("fault", [PORT, NET, "host", ""], ids=["port", "network", "host", "nothing"])
def test_port_that_cannot_be_had_says_why(parts: Parts, fault: str) -> None:
    parts.conductor.host_networks = document(4, *([PORT] if fault else [OTHER]))
    parts.plug.faults = {fault: "no bridge for it"} if fault else {}
    with pytest.raises(DriverError) as caught:
        parts.networking.plugged(guest_with(PORT))
    assert caught.value.failure_class is FailureClass.NETWORK
    assert ("no bridge for it" if fault else "is not bound to this host") in caught.value.message


def test_what_was_broken_is_tried_again_for_the_next_guest(parts: Parts) -> None:
    parts.conductor.host_networks = document(4, PORT)
    parts.plug.faults = {"host": "nft is not installed"}
    parts.tick()
    assert parts.conductor.networks_told[-1].problems[0].message == "nft is not installed"
    parts.plug.faults = {}
    assert parts.networking.plugged(guest_with(PORT)).ports[0].tap


def test_destroyed_guest_is_unplugged_though_this_run_did_not_plug_it(parts: Parts) -> None:
    parts.conductor.host_networks = document(4, PORT, OTHER, instance="a")
    parts.tick()
    for port in (PORT, OTHER):
        parts.networking.plugged(guest_with(port))
    parts.networking.unplug("a")
    assert parts.plug.taps == frozenset()
    parts.tick()
    assert parts.conductor.networks_told[-1].active_ports == ()


def test_guest_is_plugged_while_what_is_in_force_is_told(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    parts.conductor.host_networks = document(4, PORT)
    tell, plugged = parts.conductor.networks_applied, []

    def slow_tell(*, host: str, applied: NetworksApplied) -> None:
        thread = threading.Thread(
            target=lambda: plugged.append(parts.networking.plugged(guest_with(PORT))), daemon=True
        )
        thread.start()
        thread.join(PATIENCE_S)
        tell(host=host, applied=applied)

    monkeypatch.setattr(parts.conductor, "networks_applied", slow_tell)
    parts.tick()
    assert plugged, "the guest waits for the control plane's answer"
    monkeypatch.undo()
    parts.tick()
    assert [told.active_ports for told in parts.conductor.networks_told] == [(), (PORT,)]


def test_port_plugged_while_a_document_is_carried_out_is_told(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    parts.conductor.host_networks = document(4, PORT)
    parts.tick()
    apply = parts.plug.apply

    def look_too_early(wanted: HostNetworks) -> NetworksApplied:
        applied = apply(wanted)
        parts.networking._port_plug(guest_with(PORT).ports[0], "a")
        return applied

    monkeypatch.setattr(parts.plug, "apply", look_too_early)
    parts.conductor.host_networks = document(5, PORT)
    parts.tick()
    assert parts.conductor.networks_told[-1].active_ports == (PORT,)


def test_taps_outlive_the_agent(tmp_path) -> None:
    first, second = (MemoryPlug(tmp_path / "taps.json") for _ in range(2))
    first.apply(document(1, PORT))
    first.plug(guest_with(PORT).ports[0])
    second.open()
    assert second.taps == {PORT}
    assert second.apply(document(2)).active_ports == ()
    assert second.taps == frozenset()


def test_agent_builds_with_its_port_plugged_and_hears_of_changes(world: World) -> None:
    guest = guest_with(PORT)
    world.conductor.host_networks = document(1, PORT, instance=guest.uuid)
    world.start(networks_interval_s=3600.0)
    world.conductor.order(WorkKind.BUILD, guest)
    eventually(lambda: world.conductor.instances[guest.uuid].vm_state == "active")
    assert world.plug.taps == {PORT}
    eventually(lambda: (PORT,) in [told.active_ports for told in world.conductor.networks_told])

    with world.conductor.changed:  # a wake-up tells: the next look is an hour away
        world.conductor.host_networks = document(2, PORT, OTHER, instance=guest.uuid)
        world.conductor.pending_wakeups.append(HostWakeup())
        world.conductor.changed.notify_all()
    eventually(lambda: world.plug.document.revision == 2)

    world.conductor.order(WorkKind.DELETE, guest)
    eventually(lambda: world.conductor.instances[guest.uuid].vm_state == "deleted")
    assert world.plug.taps == frozenset()


def test_build_without_its_port_fails_as_a_matter_of_networks(world: World) -> None:
    world.start()
    guest = guest_with(PORT)
    world.conductor.order(WorkKind.BUILD, guest)
    eventually(lambda: world.conductor.instances[guest.uuid].failures)
    (failure,) = world.conductor.instances[guest.uuid].failures
    assert (failure.failure_class, failure.step) == (FailureClass.NETWORK, "networking")
    assert failure.message == f"port {PORT} in network blue is not bound to this host"
