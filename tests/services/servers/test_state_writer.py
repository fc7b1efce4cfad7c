"""The one writer of instance states: what the tables of transitions refuse reaches no row, whichever way is taken."""

from itertools import product

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from computeagent.protocol.guests import GuestFacts
from computeagent.protocol.power import PowerState
from controlplane.kernel.errors import Conflict, NotFound
from servers.instances.actions.lifecycle import CREATE
from servers.instances.domain.transitions import task_can_become, vm_can_become
from servers.instances.services.state import (
    built_set,
    instance_deleted_set,
    instances_insert,
    state_set,
    step_task_set,
)
from servers.models import Instance
from servers.states import DELETING_TASKS, TaskState, VmState
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)
GUEST = GuestFacts(PowerState.RUNNING, {"default": ("10.0.0.5",)}, "/run/vnc.sock")


@pytest.fixture
def instance() -> Instance:
    who = world.cloud()
    return world.active(who.member)


def put(instance: Instance, vm_state: VmState, task_state: TaskState = TaskState.NONE) -> None:
    Instance.objects.filter(pk=instance.pk).update(vm_state=vm_state, task_state=task_state)


def test_a_stable_state_follows_only_as_the_table_says(instance: Instance) -> None:
    for old, new in product(VmState, VmState):
        put(instance, old)
        if vm_can_become(old, new):
            state_set(instance.pk, vm_state=new)
        else:
            with pytest.raises(Conflict):
                state_set(instance.pk, vm_state=new)
        assert world.instance_of(instance.pk).vm_state == (new if vm_can_become(old, new) else old)


def test_a_task_follows_only_as_the_table_says_whatever_was_expected(instance: Instance) -> None:
    row = Instance.objects.filter(pk=instance.pk)
    for old in TaskState:
        put(instance, VmState.ACTIVE, old)
        for new in TaskState:
            if task_can_become(old, new):
                state_set(instance.pk, task_in=set(TaskState), task_state=new)
                assert row.filter(task_state=new).exists(), (old, new)
                put(instance, VmState.ACTIVE, old)
            else:
                with pytest.raises(Conflict):
                    state_set(instance.pk, task_in=set(TaskState), task_state=new)
                assert row.filter(task_state=old).exists(), (old, new)


@pytest.mark.parametrize("vm_state", VmState)
def test_a_build_goes_on_and_ends_only_while_it_is_building(instance: Instance, vm_state: VmState) -> None:
    put(instance, vm_state, TaskState.SPAWNING)
    if vm_state is VmState.BUILDING:
        step_task_set(instance.pk, CREATE, TaskState.NETWORKING)
        built_set(instance.pk, GUEST)
        return
    with pytest.raises(Conflict):
        step_task_set(instance.pk, CREATE, TaskState.NETWORKING)
    with pytest.raises(Conflict):
        built_set(instance.pk, GUEST)


@pytest.mark.parametrize("task", sorted(DELETING_TASKS))
def test_a_build_stops_at_a_deletion(instance: Instance, task: TaskState) -> None:
    put(instance, VmState.BUILDING, task)
    with pytest.raises(Conflict):
        step_task_set(instance.pk, CREATE, TaskState.NETWORKING)
    with pytest.raises(Conflict):
        built_set(instance.pk, GUEST)


def test_an_end_of_a_build_writes_what_the_host_said_and_the_first_launch_once(instance: Instance) -> None:
    first = instance.launched_at
    put(instance, VmState.BUILDING, TaskState.SPAWNING)
    Instance.objects.filter(pk=instance.pk).update(task_since=first, power_state="nostate", launched_on="")
    built_set(instance.pk, GUEST)
    now = world.instance_of(instance.pk)
    assert (now.vm_state, now.task_state, now.task_since) == ("active", "", None)
    assert (now.power_state, now.addresses, now.console_socket) == (
        "running",
        {"default": ["10.0.0.5"]},
        "/run/vnc.sock",
    )
    assert (now.launched_at, now.launched_on, now.generation) == (first, "h1", instance.generation + 1)
    assert now.updated_at > instance.updated_at


@pytest.mark.parametrize("vm_state", [state for state in VmState if state is not VmState.DELETED])
def test_every_instance_ends_once(instance: Instance, vm_state: VmState) -> None:
    put(instance, vm_state, TaskState.DELETING)
    assert instance_deleted_set(instance.pk)
    assert not instance_deleted_set(instance.pk)
    ended = world.instance_of(instance.pk)
    assert (ended.vm_state, ended.task_state, ended.power_state) == ("deleted", "", "nostate")
    assert ended.deleted_at == ended.terminated_at is not None
    with pytest.raises(NotFound):
        state_set(instance.pk, vm_state=VmState.ERROR)


def test_no_instance_begins_as_it_likes(instance: Instance) -> None:
    with pytest.raises(ValueError, match="no instance begins as active with the task none"):
        instances_insert([instance], vm_state=VmState.ACTIVE, task_state=TaskState.NONE)


@pytest.mark.parametrize("expected", [{"vm_in": set()}, {"task_in": set()}, {"vm_in": {"stopped"}}])
def test_what_was_not_expected_is_refused_with_what_is(instance: Instance, expected: dict[str, set[str]]) -> None:
    with pytest.raises(Conflict, match=r"The instance is active \(task none\)"):
        state_set(instance.pk, task_state="pausing", **expected)


def test_a_change_is_one_statement(instance: Instance) -> None:
    with CaptureQueriesContext(
        connection,
    ) as queries:
        state_set(instance.pk, vm_in={"active"}, task_state="pausing", hosts_tried=["h1"], decision_id=None)
    assert len(queries) == 1
    now = world.instance_of(instance.pk)
    assert (now.task_state, now.hosts_tried, now.decision_id) == ("pausing", ["h1"], None)
    assert now.task_since is not None
