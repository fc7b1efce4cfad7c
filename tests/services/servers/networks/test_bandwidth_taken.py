"""An instance that is there gets a port with bandwidth: its host serves it, or nothing has happened."""

import uuid
from typing import Any

import pytest
from django.db import connection, transaction

from computeagent.protocol.work import WorkKind
from controlplane.identity.domain import Caller
from controlplane.kernel.errors import Conflict, NoCapacity
from placement.domain import InventorySpec
from placement.services import allocations_free, inventory_set
from servers.instances.services.act import instance_act
from servers.instances.services.delete import instance_delete
from servers.instances.services.device_turns import device_turns_cancel
from servers.models import Instance, Port
from servers.networks.domain.ports import PortRequest
from servers.networks.services.ports import ports_create
from servers.repair.services.audit import audit_findings
from servers.repair.services.placement_audit import placement_audit
from tests.services.servers.networks.test_bandwidth_freed import Died, Killed, detach, done, held, used
from tests.services.servers.networks.test_port_bandwidth import (
    EGRESS,
    NORMAL,
    PHYSNET,
    bandwidth,
    card,
    fast_cloud,
    port,
)
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)


def on_fast_host(who: world.People, net: Any) -> Instance:
    """An instance on the host that has the fast card, with a port that holds 1,000 of it."""
    port(who, net, "first", 1_000)
    return world.active(who.member, networks=[{"port": "first"}])


def attach(caller: Caller, instance: Instance, name: str) -> None:
    instance_act(caller=caller, instance_id=instance.pk, action="attach_interface", arguments={"port": name})


def order(instance: Instance) -> Any:
    return world.order(instance.host, WorkKind.ATTACH_INTERFACE).lease


def owner(of: Port) -> uuid.UUID | None:
    of.refresh_from_db()
    return of.instance_uuid


def test_bandwidth_is_the_instances_from_the_moment_it_has_the_port() -> None:
    who, net, fast = fast_cloud()
    vm = on_fast_host(who, net)
    more = port(who, net, "more", 2_500)
    attach(who.member, vm, "more")
    assert (owner(more), held(vm), used(fast)) == (vm.pk, {fast: 3_500}, 3_500)
    done(order(vm))
    assert world.instance_of(vm.pk).vm_state == "active"
    assert audit_findings() == [] == placement_audit()
    done(detach(who, vm, more))
    assert (owner(more), held(vm), used(fast)) == (None, {fast: 1_000}, 1_000)
    attach(who.member, vm, "more")
    done(order(vm))
    instance_delete(caller=who.member, instance_id=vm.pk)
    world.conductor_connect().deleted(lease=world.order("h2", WorkKind.DELETE).lease)
    assert used(fast) == 0


def test_host_that_does_not_serve_it_is_named_to_operators_alone() -> None:
    who, net, fast = fast_cloud()
    vm = on_fast_host(who, net)
    much = port(who, net, "much", 4_500)
    said = {}
    for caller in (who.member, who.admin):
        with pytest.raises(NoCapacity) as refused:
            attach(caller, vm, "much" if caller is who.member else str(much.pk))
        said[caller.username] = refused.value.message
        assert (refused.value.field, owner(much), held(vm), used(fast)) == ("port", None, {fast: 1_000}, 1_000)
    assert said[who.member.username] == "The instance's host does not serve what the port asks for, such as bandwidth."
    assert EGRESS in said[who.admin.username]
    assert world.instance_of(vm.pk).task_state == ""


def test_what_is_too_much_for_one_consumer_is_refused_by_the_guard() -> None:
    who, net, fast = fast_cloud()
    vm = on_fast_host(who, net)
    inventory_set(fast, {EGRESS: InventorySpec(total=5_000, max_unit=2_000)})
    more = port(who, net, "more", 1_500)
    with pytest.raises(NoCapacity, match="such as bandwidth"):
        attach(who.member, vm, "more")
    assert (owner(more), held(vm)) == (None, {fast: 1_000})


def test_of_several_cards_one_serves_each_group_whole() -> None:
    who, net, fast = fast_cloud()
    vm = on_fast_host(who, net)
    second = card("h2", "FAST", 3_000, number=2)
    asked = {name: bandwidth(3_000)["bandwidth"] for name in ("one", "other")}
    ports_create(
        caller=who.admin, requests=[PortRequest(net.pk, who.member.project_id, name="two", resource_request=asked)]
    )
    attach(who.member, vm, "two")
    assert held(vm) == {fast: 4_000, second: 3_000}


def test_card_that_the_guest_does_not_get_gives_it_back() -> None:
    who, net, fast = fast_cloud()
    vm = on_fast_host(who, net)
    more = port(who, net, "more", 2_500)
    attach(who.member, vm, "more")
    world.conductor_connect().action_failed(lease=order(vm), step="networking", message="no such card")
    assert (owner(more), held(vm), used(fast)) == (None, {fast: 1_000}, 1_000)
    assert audit_findings() == [] == placement_audit()


def test_card_that_waits_for_its_turn_and_never_gets_it_gives_it_back() -> None:
    who, net, fast = fast_cloud()
    vm = on_fast_host(who, net)
    one, other = port(who, net, "one", 500), port(who, net, "other", 2_500)
    attach(who.member, vm, "one")
    attach(who.member, vm, "other")
    assert held(vm) == {fast: 4_000}
    with transaction.atomic():
        device_turns_cancel(vm, reason="Something stronger took over.")
    assert (owner(one), owner(other), held(vm), used(fast)) == (vm.pk, None, {fast: 1_500}, 1_500)


def test_killed_at_any_statement_port_and_bandwidth_are_both_the_instances_or_neither() -> None:
    who, net, fast = fast_cloud()
    vm = on_fast_host(who, net)
    more = port(who, net, "more", 2_500)
    for number in range(500):
        try:
            with connection.execute_wrapper(Killed(number)):
                attach(who.member, vm, "more")
        except Died:
            has_it = owner(more) == vm.pk
            assert (owner(more), used(fast)) == ((vm.pk, 3_500) if has_it else (None, 1_000)), number
            assert held(vm) == {fast: used(fast)}, number
            if has_it:  # what is read for the answer, once it is done
                break
    assert (owner(more), held(vm), used(fast)) == (vm.pk, {fast: 3_500}, 3_500)
    assert number > 20 and audit_findings() == []


def test_instance_whose_allocations_somebody_took_gets_no_more() -> None:
    who, net, fast = fast_cloud()
    vm = on_fast_host(who, net)
    more = port(who, net, "more", 500)
    allocations_free([vm.pk])
    with pytest.raises(Conflict, match="holds no allocations"):
        attach(who.member, vm, "more")
    assert (owner(more), used(fast)) == (None, 0)


def test_host_without_such_a_card_refuses_it() -> None:
    who, net, _fast = fast_cloud()
    vm = on_fast_host(who, net)
    slow = {"bandwidth": {"resources": {EGRESS: 1}, "required": [PHYSNET.format("SLOW"), NORMAL]}}
    ports_create(
        caller=who.admin, requests=[PortRequest(net.pk, who.member.project_id, name="slow", resource_request=slow)]
    )
    with pytest.raises(NoCapacity):
        attach(who.member, vm, "slow")  # h1 has one
