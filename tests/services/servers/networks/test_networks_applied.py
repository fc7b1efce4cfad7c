"""What hosts tell of their networks: status of ports and routers, how far they are, and nothing written twice."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from computeagent.protocol.networks import NetworkProblem, NetworksApplied
from controlplane.identity.models import Project
from servers.agent_api import conductor_connect
from servers.models import FloatingIP, HostNetworkState, Network, Port, Router
from tests.worlds import networks as world

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def net() -> Network:
    HostNetworkState.objects.create(host="h1", wanted_revision=5)
    return world.network("blue")


def tell(revision: int, *active: Port, problems: tuple[NetworkProblem, ...] = (), host: str = "h1") -> None:
    applied = NetworksApplied(revision, tuple(str(port.pk) for port in active), problems)
    conductor_connect().networks_applied(host=host, applied=applied)


def status_of(port: Port) -> tuple[str, str]:
    port.refresh_from_db()
    return port.status, port.problem


def test_ports_get_the_status_that_their_host_tells(net: Network) -> None:
    plugged, absent, broken = (world.port(net, "h1") for _ in range(3))
    foreign = world.port(net, "h2")
    tell(4, plugged, foreign, problems=(NetworkProblem("port", str(broken.pk), "no\nbridge"),))
    assert [status_of(port) for port in (plugged, absent, broken, foreign)] == [
        ("ACTIVE", ""),
        ("DOWN", ""),
        ("ERROR", "no bridge"),
        ("DOWN", ""),
    ]
    tell(5, broken)
    assert [status_of(port) for port in (plugged, broken)] == [("DOWN", ""), ("ACTIVE", "")]
    state = HostNetworkState.objects.get()
    assert (state.applied_revision, state.problems) == (5, [])


def test_same_is_not_written_again(net: Network) -> None:
    port = world.port(net, "h1")
    problem = NetworkProblem("network", str(net.pk), "no peer")
    tell(5, port, problems=(problem,))
    with CaptureQueriesContext(connection) as queries:
        tell(5, port, problems=(problem,))
    assert not [one["sql"] for one in queries if one["sql"].startswith(("UPDATE", "INSERT"))]
    assert HostNetworkState.objects.get().problems == [{"kind": "network", "id": str(net.pk), "message": "no peer"}]


def test_report_that_comes_late_changes_nothing(net: Network) -> None:
    port = world.port(net, "h1")
    tell(5, port)
    tell(4)
    assert status_of(port) == ("ACTIVE", "")
    assert HostNetworkState.objects.get().applied_revision == 5


def test_revision_beyond_what_is_wanted_is_what_is_wanted(net: Network) -> None:
    tell(999)
    assert HostNetworkState.objects.get().applied_revision == 5


def test_host_that_is_to_have_nothing_leaves_no_row() -> None:
    tell(0)
    assert not HostNetworkState.objects.exists()


def test_routers_and_their_floating_addresses(net: Network) -> None:
    project = Project.objects.create(name="demo")
    outside = world.network("outside", cidr="198.51.100.0/24", segment=None)
    port = world.port(net, "h2")
    router = world.router(project, "h1", net, external=outside)
    floating = world.floating(project, outside, port, router)

    def found() -> tuple[str, str]:
        return Router.objects.get().problem, FloatingIP.objects.get(pk=floating.pk).status

    tell(4)
    assert found() == ("", "DOWN")  # the address may be too new for revision 4
    tell(5)
    assert found() == ("", "ACTIVE")
    tell(5, problems=(NetworkProblem("router", str(router.pk), "no bridge for public"),))
    assert found() == ("no bridge for public", "ERROR")
    tell(5)
    assert found() == ("", "ACTIVE")


def test_wanted_is_told_again_only_when_it_changed(net: Network) -> None:
    conductor = conductor_connect()
    port = world.port(net, "h1")
    document = conductor.networks_wanted(host="h1")
    assert document is not None
    assert [one.id for one in document.ports] == [str(port.pk)]
    assert conductor.networks_wanted(host="h1", known_revision=5) is None
    HostNetworkState.objects.update(wanted_revision=6)
    assert conductor.networks_wanted(host="h1", known_revision=5) is not None
