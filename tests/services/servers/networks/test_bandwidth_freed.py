"""An interface whose port holds bandwidth leaves its instance: what it held is given back, once, or not at all."""

import uuid
from typing import Any

import pytest
from django.db import connection

from computeagent.protocol.work import WorkKind
from controlplane.identity.models import Project
from controlplane.kernel.errors import KilonovaError
from placement.domain import UNCHECKED, ConsumerState
from placement.selectors import allocations_by_consumer
from placement.selectors.usage import fleet_usage
from placement.services import allocations_free, allocations_replace
from scheduling.models import ComputeNode
from servers.instances.services.act import instance_act
from servers.models import Instance, Port
from servers.networks.domain.ports import PortRequest
from servers.networks.services.ports import ports_create
from servers.repair.services.audit import audit_findings
from servers.repair.services.placement_audit import placement_audit
from tests.services.servers.networks.test_port_bandwidth import EGRESS, NORMAL, PHYSNET, card, fast_cloud, port
from tests.worlds import cloud as world
from tests.worlds import networks as nets

pytestmark = pytest.mark.django_db(transaction=True)


def held(instance: Instance) -> dict[uuid.UUID, int]:
    """Bandwidth by card."""
    rows = allocations_by_consumer().get(instance.pk, [])
    return {one.provider_uuid: one.used for one in rows if one.resource_class == EGRESS}


def used(provider: uuid.UUID) -> int:
    return fleet_usage({provider})[provider][EGRESS].used


def detach(who: world.People, instance: Instance, of: Port) -> Any:
    """The host's work, taken."""
    arguments = {"port": str(of.pk)}
    instance_act(caller=who.member, instance_id=instance.pk, action="detach_interface", arguments=arguments)
    return world.order(instance.host, WorkKind.DETACH_INTERFACE).lease


def done(lease: Any) -> None:
    world.conductor_connect().action_done(lease=lease, facts=world.RUNNING)


def test_bandwidth_of_a_card_that_leaves_is_for_others() -> None:
    who, net, fast = fast_cloud()
    first, second, third = (port(who, net, name, kbit) for name, kbit in (("a", 2_000), ("b", 2_500), ("c", 1_500)))
    vm = world.active(who.member, networks=[{"port": "a"}, {"port": "b"}])
    assert (held(vm), used(fast)) == ({fast: 4_500}, 4_500)
    assert placement_audit() == []
    lease = detach(who, vm, first)
    assert held(vm) == {fast: 4_500}  # until the guest has let go of it
    done(lease)
    assert (held(vm), used(fast)) == ({fast: 2_500}, 2_500)
    first.refresh_from_db()
    assert (first.instance_uuid, first.resource_request["bandwidth"]["resources"]) == (None, {EGRESS: 2_000})
    other = world.active(who.member, networks=[{"port": str(third.pk)}])
    assert (other.host, used(fast)) == ("h2", 4_000)
    done(detach(who, vm, second))
    assert (held(vm), used(fast)) == ({}, 1_500)
    assert world.instance_of(vm.pk).vm_state == "active"
    assert {one.resource_class for one in allocations_by_consumer()[vm.pk]} >= {"VCPU", "MEMORY_MB"}
    assert audit_findings() == [] == placement_audit()


def test_word_that_comes_twice_frees_once() -> None:
    who, net, fast = fast_cloud()
    first = port(who, net, "a", 2_000)
    port(who, net, "b", 2_000)
    vm = world.active(who.member, networks=[{"port": "a"}, {"port": "b"}])
    lease = detach(who, vm, first)
    done(lease)
    with pytest.raises(KilonovaError):
        done(lease)
    assert (held(vm), used(fast)) == ({fast: 2_000}, 2_000)


def test_card_that_the_guest_keeps_holds_its_bandwidth() -> None:
    who, net, fast = fast_cloud()
    first = port(who, net, "a", 2_000)
    vm = world.active(who.member, networks=[{"port": "a"}])
    lease = detach(who, vm, first)
    world.conductor_connect().action_failed(lease=lease, step="networking", message="the guest did not")
    first.refresh_from_db()
    assert (first.instance_uuid, held(vm)) == (vm.pk, {fast: 2_000})
    done(detach(who, vm, first))
    assert held(vm) == {}


class Died(BaseException):
    """The end of a process."""


class Killed:
    """A process that dies before its statement of this number."""

    def __init__(self, number: int) -> None:
        self.left = number

    def __call__(self, execute: Any, *arguments: Any) -> Any:
        if self.left == 0:
            raise Died
        self.left -= 1
        return execute(*arguments)


def test_killed_at_any_statement_nothing_stays_claimed_and_nothing_is_freed_twice() -> None:
    who, net, fast = fast_cloud()
    first = port(who, net, "a", 2_000)
    port(who, net, "b", 2_500)
    vm = world.active(who.member, networks=[{"port": "a"}, {"port": "b"}])
    lease = detach(who, vm, first)
    for number in range(500):
        try:
            with connection.execute_wrapper(Killed(number)):
                done(lease)
        except Died:
            first.refresh_from_db()
            assert (first.instance_uuid, held(vm), used(fast)) == (vm.pk, {fast: 4_500}, 4_500), number
        else:
            break
    first.refresh_from_db()
    assert (first.instance_uuid, held(vm), used(fast)) == (None, {fast: 2_500}, 2_500)
    assert number > 10 and audit_findings() == []


def test_of_two_cards_each_gives_back_its_own() -> None:
    who, net, fast = fast_cloud()
    slow = card("h2", "SLOW", 5_000)
    other = nets.network(
        "slow", project=Project.objects.get(pk=who.member.project_id), physical_network="physnet1", segment=None
    )
    quick = port(who, net, "a", 1_000)
    asked = {"bandwidth": {"resources": {EGRESS: 2_000}, "required": [PHYSNET.format("SLOW"), NORMAL]}}
    lazy = ports_create(
        caller=who.admin,
        requests=[PortRequest(other.pk, who.member.project_id, name="s", resource_request=asked)],
    )[0]
    vm = world.active(who.member, networks=[{"port": "a"}, {"port": "s"}])
    assert held(vm) == {fast: 1_000, slow: 2_000}
    done(detach(who, vm, quick))
    assert held(vm) == {slow: 2_000}
    done(detach(who, vm, lazy))
    assert held(vm) == {}


def test_what_somebody_took_from_the_instance_before_keeps_no_card() -> None:
    who, net, fast = fast_cloud()
    first = port(who, net, "a", 2_000)
    vm = world.active(who.member, networks=[{"port": "a"}])
    node = ComputeNode.objects.get(host="h2").pk
    less = {node: {"VCPU": 1, "MEMORY_MB": 512}, fast: {EGRESS: 500}}
    state = ConsumerState(vm.pk, str(vm.project_id), str(vm.user_id), "INSTANCE", less, generation=UNCHECKED)
    allocations_replace([state])
    done(detach(who, vm, first))
    first.refresh_from_db()
    assert (first.instance_uuid, held(vm)) == (None, {fast: 500})  # which is nobody's that we know
    again = port(who, net, "b", 100)
    vm = world.active(who.member, networks=[{"port": "b"}])
    allocations_free([vm.pk])
    done(detach(who, vm, again))
    again.refresh_from_db()
    assert (again.instance_uuid, held(vm)) == (None, {})
