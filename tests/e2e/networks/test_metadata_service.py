"""Guests of a hypervisor ask 169.254.169.254 through its bridges, and each is told its own."""

from collections.abc import Callable
from pathlib import Path

import pytest

from computeagent.agent.guest_metadata import MetadataService
from computeagent.networks.bridge.plug import BridgePlug
from computeagent.protocol.networks import AddressPair, HostPort, NetworkSpec
from tests.units.computeagent.agent.documents_asked import DocumentsAsked
from tests.worlds.bridge_place import OPEN, Place, document, network, new_id, port_in
from tests.worlds.guest_metadata import HOST, asks, reaches, service_of, uuid_told

pytestmark = [pytest.mark.processes, pytest.mark.long]
NO_RULES: dict[str, object] = {"group_ids": ()}


def port(of: NetworkSpec, address: str, **more: object) -> HostPort:
    return port_in(of, address, **{"instance_uuid": new_id(), **NO_RULES, **more})


def test_guests_with_equal_addresses_in_two_networks_are_told_their_own(place: Place, tmp_path: Path) -> None:
    first, second = network(), network()
    a, b, c = port(first, "10.50.0.5"), port(second, "10.50.0.5"), port(first, "10.50.0.7")
    assert place.plug.apply(document([first, second], [a, b, c])).problems == ()
    guests = [place.guest(each) for each in (a, b, c)]
    for guest in guests:
        reaches(guest)
    service = service_of(place.plug, tmp_path / "state", a, b)

    assert [uuid_told(guest) for guest in guests[:2]] == [a.instance_uuid, b.instance_uuid]
    assert asks(guests[2])[0] == 404
    service.close()


@pytest.mark.parametrize(
    ("of_thief", "is_other_on"),
    [
        pytest.param({}, True, id="a plain port"),
        # The other one is off, so that its address answers nobody.
        pytest.param(
            {"allowed_pairs": (AddressPair("10.50.0.6"), AddressPair("10.50.0.64/26"))}, False, id="an allowed pair"
        ),
        pytest.param({"has_security": False}, False, id="a port without security"),
    ],
)
def test_guest_cannot_ask_in_the_name_of_another_one(
    place: Place, tmp_path: Path, of_thief: dict[str, object], is_other_on: bool
) -> None:
    of = network()
    a, b = port(of, "10.50.0.5", **of_thief), port(of, "10.50.0.6")
    assert place.plug.apply(document([of], [a, b])).problems == ()
    thief = place.guest(a)
    if is_other_on:
        place.guest(b)
    reaches(thief)
    thief.run("ip", "address", "add", "10.50.0.6/24", "dev", "eth0")
    service = service_of(place.plug, tmp_path / "state", a, b)

    assert asks(thief, source="10.50.0.5")[0] == 200
    assert asks(thief, source="10.50.0.6")[0] == 0
    service.close()


def test_service_goes_on_after_a_kill_of_the_agent_before_any_document_of_networks_comes(
    place: Place, tmp_path: Path
) -> None:
    of = network()
    a = port(of, "10.50.0.5")
    assert place.plug.apply(document([of], [a])).problems == ()
    guest = place.guest(a)
    reaches(guest)
    first = service_of(place.plug, tmp_path / "state", a)
    assert uuid_told(guest) == a.instance_uuid
    first.server.leave([of.id])
    first.close()
    assert asks(guest)[0] == 0

    plug = BridgePlug(place.place, place.directory)
    second = MetadataService(HOST, DocumentsAsked(), tmp_path / "state", plug.service_prefix)  # type: ignore[arg-type]
    second.open()
    second.tick(None)

    assert uuid_told(guest) == a.instance_uuid
    second.close()


def test_nothing_else_of_the_host_answers_there(place: Place, tmp_path: Path) -> None:
    of = network()
    a = port(of, "10.50.0.5")
    assert place.plug.apply(document([of], [a])).problems == ()
    guest = place.guest(a)
    reaches(guest)
    service = service_of(place.plug, tmp_path / "state", a)

    assert not guest.asks("169.254.169.254", 22)
    assert not guest.asks("169.254.169.254", 8000)
    assert asks(guest, "/etc/passwd")[0] == 404
    service.close()


def test_a_network_that_goes_takes_its_socket_along(make_place: Callable[..., Place], tmp_path: Path) -> None:
    place = make_place()
    of = network()
    a = port(of, "10.50.0.5")
    place.plug.apply(document([of], [a]))
    service = service_of(place.plug, tmp_path / "state", a)
    assert set(service.server.namespaces()) == {of.id}

    place.plug.apply(document([], [], revision=2))
    service.tick(None)

    assert service.server.namespaces() == {}
    service.close()


def test_guests_with_rules_that_let_nothing_out_are_told_all_the_same(place: Place, tmp_path: Path) -> None:
    of = network()
    closed, opened = port(of, "10.50.0.5"), port(of, "10.50.0.6", group_ids=(OPEN.id,))
    assert place.plug.apply(document([of], [closed, opened])).problems == ()
    guests = [place.guest(each) for each in (closed, opened)]
    for guest in guests:
        reaches(guest)
    service = service_of(place.plug, tmp_path / "state", closed, opened)

    assert [uuid_told(guest) for guest in guests] == [closed.instance_uuid, opened.instance_uuid]
    service.close()
