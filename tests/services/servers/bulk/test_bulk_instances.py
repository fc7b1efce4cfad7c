"""Instances in bulk jobs that are scheduled again, or whose crashes somebody has seen; what is none is refused."""

import uuid

import pytest

from computeagent.protocol.guests import GuestFacts
from computeagent.protocol.power import PowerState
from controlplane.identity.domain import Caller, Role
from controlplane.identity.models import RoleAssignment
from controlplane.kernel.errors import Forbidden, Invalid
from servers.agent_api import conductor_connect
from servers.bulk.selectors import bulk_offers
from servers.bulk.services import run
from servers.bulk.services.jobs import bulk_job_create
from servers.bulk.things.instances import INSTANCES
from servers.instances.actions.table import ACTIONS
from servers.instances.selectors.failed_instances import crashed
from servers.models import BulkJob, BulkJobItem, Instance, InstanceAction
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)

BOTH = ("schedule_again", "crash_seen")


def job_of(caller: Caller, action: str, *ids: uuid.UUID) -> BulkJob:
    """Asked for, and each item has had its turn."""
    job = bulk_job_create(caller=caller, action=action, ids=ids)
    world.pump()
    return job


def states(job: BulkJob) -> list[tuple[str, str]]:
    run.bulk_items_follow()
    return list(BulkJobItem.objects.filter(job=job).order_by("position").values_list("state", "reason"))


def without_host(caller: Caller, name: str) -> Instance:
    """One that asked for more than any host has."""
    made = world.create(caller, name, flavor="huge")[0]
    world.pump()
    return world.instance_of(made.pk)


def with_crash(caller: Caller) -> Instance:
    instance = world.active(caller)
    conductor_connect().power_states(host="h1", facts={str(instance.pk): GuestFacts(PowerState.CRASHED)})
    return world.instance_of(instance.pk)


def test_those_without_a_host_are_scheduled_again_and_followed_until_they_run() -> None:
    people = world.cloud("h1")
    world.flavor("huge", vcpus=8)
    first, second = (without_host(people.member, name) for name in ("one", "two"))
    running = world.active(people.member)
    world.host("big", vcpus=8)
    job = job_of(people.member, "schedule_again", first.pk, running.pk, second.pk, uuid.uuid4())
    found = states(job)
    assert [state for state, _ in found] == ["running", "failed", "running", "failed"]
    assert found[1][1] == "The instance is active; schedule again needs error."
    assert "does not exist" in found[3][1]
    world.finish_builds()
    assert world.instance_of(first.pk).vm_state == "active"
    assert states(job)[0] == ("done", "")
    assert not Instance.objects.get(pk=running.pk).task_state


def test_one_for_which_there_is_no_host_again_fails_with_the_reason() -> None:
    people = world.cloud("h1")
    world.flavor("huge", vcpus=8)
    instance = without_host(people.member, "one")
    [(state, reason)] = states(job_of(people.member, "schedule_again", instance.pk))
    assert state == "failed"
    assert reason == InstanceAction.objects.filter(action="schedule_again").get().message


def test_crashes_are_marked_as_seen_and_what_has_not_crashed_says_so() -> None:
    people = world.cloud("h1")
    gone, running = with_crash(people.member), world.active(people.member)
    job = job_of(people.member, "crash_seen", gone.pk, running.pk)
    assert states(job) == [("done", ""), ("failed", "The instance is active; crash seen needs stopped.")]
    assert not crashed(caller=people.member).exists()


@pytest.mark.parametrize("action", BOTH)
def test_roles(action: str) -> None:
    people = world.cloud("h1")
    world.flavor("huge", vcpus=8)
    instance = without_host(people.member, "one") if action == "schedule_again" else with_crash(people.member)
    offered = {who: action in {rule.name for rule in bulk_offers(getattr(people, who))} for who in ("admin", "reader")}
    assert offered == {"admin": True, "reader": False}
    with pytest.raises(Forbidden):
        bulk_job_create(caller=people.reader, action=action, ids=[instance.pk])
    [(state, reason)] = states(job_of(people.stranger, action, instance.pk))
    assert (state, "does not exist" in reason) == ("failed", True)
    job = bulk_job_create(caller=people.member, action=action, ids=[instance.pk])
    RoleAssignment.objects.filter(user=people.member.user_id).update(role=Role.READER.value)
    world.pump()
    [(state, reason)] = states(job)
    assert (state, "needs the role member" in reason) == ("failed", True)
    assert not InstanceAction.objects.filter(action=action).exists()
    job_of(people.admin, action, instance.pk)
    assert InstanceAction.objects.filter(action=action, user_id=people.admin.user_id).exists()


def test_what_is_neither_asked_for_by_name_nor_a_deletion_is_refused_and_deletes_nothing() -> None:
    people = world.cloud("h1")
    instance = world.active(people.member)
    others = [rule for rule in ACTIONS.values() if not rule.is_verb and not rule.bulk]
    assert {"rebuild", "rescue", "update", "reset_state", "soft_delete"} <= {rule.name for rule in others}
    for rule in others:
        with pytest.raises(Invalid, match="cannot be asked for many instances") as refused:
            INSTANCES.ask(BulkJob(action=rule.name), BulkJobItem(subject=instance.pk), people.member)
        assert refused.value.field == "action"
    row = world.instance_of(instance.pk)
    assert (row.vm_state, row.task_state, row.deleted_at) == ("active", "", None)
