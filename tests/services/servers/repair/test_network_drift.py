"""Networks out of step: listed with what is wrong, healed where that is safe, and found by the audit."""

import uuid
from datetime import timedelta

import pytest

from computeagent.protocol.network_traits import network_traits
from computeagent.protocol.networks import NetworkBackendKind
from controlplane.infra.db import db_now
from controlplane.work.models import Wakeup
from servers.models import HostNetworkState, IPAllocation, Port
from servers.networks.domain.names import PortOwner
from servers.networks.services.changes import networks_changed
from servers.repair.domain.drift import AUTOMATIC, DriftKind
from servers.repair.selectors.drift import drift_list
from servers.repair.services.audit import audit_findings
from servers.repair.services.drift import drift_check_run, drift_heal
from servers.repair.services.drift_sources import NETWORK_KINDS
from tests.worlds import cloud
from tests.worlds import networks as world

BRIDGES = tuple(network_traits([NetworkBackendKind.BRIDGE], ()))
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def who() -> cloud.People:
    who = cloud.cloud("h1", traits=BRIDGES)
    world.network("blue", is_default=True, is_shared=True)
    return who


def heal(kind: DriftKind) -> bool:
    drift_check_run("guests")
    (found,) = drift_list(kinds=[kind])
    return drift_heal(key=found.key, actor="root").is_done


def test_nothing_is_out_of_step_after_a_build(who: cloud.People) -> None:
    cloud.active(who.member)
    assert drift_list(kinds=NETWORK_KINDS) == []
    assert audit_findings() == []


def test_host_is_behind_from_the_first_change_that_it_has_not_applied(who: cloud.People) -> None:
    """However long it had nothing to do before: a change a moment ago is no drift, one of minutes ago is."""
    an_hour, long = timedelta(hours=1), timedelta(minutes=5)
    HostNetworkState.objects.create(
        host="h1", wanted_revision=2, applied_revision=2, applied_at=db_now() - an_hour, behind_since=db_now() - an_hour
    )
    for _ in range(2):
        networks_changed(hosts=["h1", "h2"])
        assert drift_list(kinds=NETWORK_KINDS) == []
    HostNetworkState.objects.update(behind_since=db_now() - long)
    networks_changed(hosts=["h1"])
    behind = {found.host: found.kind for found in drift_list(kinds=NETWORK_KINDS)}
    assert behind == {"h1": DriftKind.NETWORKS_BEHIND, "h2": DriftKind.NETWORKS_BEHIND}


def test_host_that_is_behind_for_long_is_woken(who: cloud.People) -> None:
    long_ago = db_now() - timedelta(minutes=5)
    HostNetworkState.objects.create(host="h1", wanted_revision=3, applied_revision=2, behind_since=long_ago)
    assert heal(DriftKind.NETWORKS_BEHIND)
    assert Wakeup.objects.filter(queue="compute.h1", code="networks").exists()


def test_host_that_is_silent_is_not_woken(who: cloud.People) -> None:
    HostNetworkState.objects.create(host="h9", wanted_revision=1)
    (found,) = drift_list(kinds=NETWORK_KINDS)
    assert (found.heal, found.obstacle) == ("", "The agent of h9 is not heard of. It fetches them when it starts.")


def test_problems_of_a_host_are_listed_for_a_person(who: cloud.People) -> None:
    said = [{"kind": "router", "id": "r1", "message": "no bridge for public"}]
    HostNetworkState.objects.create(host="h1", wanted_revision=3, applied_revision=3, problems=said)
    (found,) = drift_list(kinds=NETWORK_KINDS)
    assert found.kind is DriftKind.NETWORK_PROBLEM
    assert found.kind not in AUTOMATIC
    assert "router r1: no bridge for public" in found.found


def test_port_on_another_host_follows_its_instance(who: cloud.People) -> None:
    instance = cloud.active(who.member)
    Port.objects.update(host="h7")
    assert [one.invariant for one in audit_findings()] == [2]
    assert heal(DriftKind.PORT_ELSEWHERE)
    assert Port.objects.get().host == instance.host
    assert drift_list(kinds=[DriftKind.PORT_ELSEWHERE]) == []


def test_port_of_an_instance_that_is_gone_goes_and_a_given_one_is_its_owners_again(who: cloud.People) -> None:
    net = world.network("red")
    gone = uuid.uuid4()
    world.port(net, "h1", instance_uuid=gone)
    given = world.port(net, "h1", instance_uuid=gone, is_of_instance=False)
    assert 3 in {one.invariant for one in audit_findings()}
    drift_check_run("guests")
    for found in drift_list(kinds=[DriftKind.PORT_OWNERLESS])[:1]:
        assert drift_heal(key=found.key, actor="root").is_done
    assert audit_findings() == []
    (left,) = Port.objects.all()
    assert (left.pk, left.instance_uuid, left.host, left.owner) == (given.pk, None, "", PortOwner.NOBODY)
    assert IPAllocation.objects.count() == 1


def test_request_that_waits_for_its_host_explains_its_port(who: cloud.People) -> None:
    (pending,) = cloud.create(who.member)
    world.port(world.network("red"), instance_uuid=pending.pk)
    assert drift_list(kinds=NETWORK_KINDS) == []
