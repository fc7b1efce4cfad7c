"""What every plug promises, tried on simulated networks and on bridges of Linux."""

from collections.abc import Callable

import pytest

from computeagent.networks.base import HostPlug, NetworkError, tap_name
from computeagent.networks.memory import MemoryPlug
from tests.worlds.bridge_place import OPEN, Place, document, network, new_id, port_in, port_spec


@pytest.fixture(params=["memory", pytest.param("bridge", marks=pytest.mark.processes)])
def plug(request: pytest.FixtureRequest) -> HostPlug:
    """Each kind in turn, open."""
    made: HostPlug
    if request.param == "memory":
        made = MemoryPlug()
    else:
        make_place: Callable[..., Place] = request.getfixturevalue("make_place")
        made = make_place().plug
    made.open()
    return made


def test_port_is_plugged_once_its_document_is_in_force_and_goes_with_it(plug: HostPlug) -> None:
    of = network(mtu=1400)
    one, other = port_in(of, "10.50.0.5", group_ids=(OPEN.id,)), port_in(of, "10.50.0.6", group_ids=(OPEN.id,))
    with pytest.raises(NetworkError, match=one.id):
        plug.plug(port_spec(one))

    first = plug.apply(document([of], [one, other], revision=1))
    assert (first.revision, first.active_ports, first.problems) == (1, (), ())
    for _ in range(2):  # there already is a success
        tap = plug.plug(port_spec(one))
        assert (tap.name, tap.mtu) == (tap_name(one.id), 1400)
    plug.plug(port_spec(other))
    again = plug.apply(document([of], [one, other], revision=1))
    assert set(again.active_ports) == {one.id, other.id}

    for _ in range(2):  # and so is gone already
        plug.unplug(other.id)
    assert plug.apply(document([of], [one, other], revision=1)).active_ports == (one.id,)
    assert plug.apply(document([of], [other], revision=2)).active_ports == ()
    with pytest.raises(NetworkError, match=one.id):
        plug.plug(port_spec(one))
    assert plug.apply(document([of], [other], revision=3)).active_ports == ()


def test_nothing_that_was_never_there_is_in_the_way(plug: HostPlug) -> None:
    plug.unplug(new_id())
    assert plug.apply(document([], [], revision=1)).problems == ()
    assert plug.service_prefix(new_id()) is None
