"""An instance is deleted at every step of its way: nothing of it is left, and the others of its batch go on."""

import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from django.db import connection

from computeagent.protocol.work import WorkKind
from controlplane.identity.models import Project
from controlplane.infra.db import now_plus
from controlplane.kernel.errors import Conflict, KilonovaError, NotFound
from controlplane.work.models import Work
from controlplane.work.reconcile import reconcile_once
from placement.selectors import allocations_by_consumer
from scheduling.models import Cell, HostMapping
from scheduling.policies.services.policies import policy_create
from servers.agent_api import conductor_connect
from servers.instances.services.delete import instance_delete
from servers.instances.services.schedule_again import instance_schedule_again
from servers.models import (
    AttemptRecord,
    BuildRequest,
    Instance,
    InstanceAction,
    InstanceFault,
    InstanceMapping,
    InstanceTag,
    RequestSpec,
    ServerGroup,
)
from servers.repair.services.audit import audit_findings
from tests.services.servers.conductor import interrupted_scheduler
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def between() -> Iterator[list[Callable[[], object]]]:
    """What happens between each plan of the scheduler and its claim."""
    policy_create(body={"scheduler": interrupted_scheduler.NAME}, activate=True)
    yield interrupted_scheduler.ACTS
    interrupted_scheduler.ACTS.clear()


def delete(who: world.People, *instances: Instance) -> None:
    for one in instances:
        instance_delete(caller=who.member, instance_id=one.pk)


def assert_nothing_is_left(*instances: Instance) -> None:
    ids = [one.pk for one in instances]
    assert not Instance.objects.filter(pk__in=ids, deleted_at__isnull=True).exists()
    for model in (BuildRequest, RequestSpec, InstanceMapping):
        assert not model._default_manager.filter(instance_uuid__in=ids).exists()
    assert not Work.objects.filter(subject__in=ids, state__in=("waiting", "running")).exists()
    assert set(allocations_by_consumer()).isdisjoint(ids)
    assert audit_findings() == []


def test_chosen_but_not_dispatched_gives_its_claim_back_and_the_others_are_built(between: list[Any]) -> None:
    who = world.cloud("h1", "h2")
    made = world.create(who.member, min_count=3)
    between.append(lambda: delete(who, made[0]))
    world.pump()
    assert_nothing_is_left(made[0])
    assert world.finish_builds() == 2
    assert {world.instance_of(one.pk).vm_state for one in made[1:]} == {"active"}


def test_all_of_a_batch_deleted_while_it_is_chosen_leaves_nothing(between: list[Any]) -> None:
    who = world.cloud()
    made = world.create(who.member, min_count=2)
    between.append(partial(delete, who, *made))
    world.pump()
    assert world.hosts_with_work() == []
    assert_nothing_is_left(*made)


def test_deleted_while_no_host_is_found_is_not_moved_to_cell0(between: list[Any]) -> None:
    who = world.cloud()
    world.flavor("huge", vcpus=8)
    made = world.create(who.member, flavor="huge")[0]
    between.append(lambda: delete(who, made))
    world.pump()
    assert InstanceFault.objects.count() == 0
    assert_nothing_is_left(made)


def test_dispatched_and_not_taken_is_cancelled_and_its_host_cleans_up() -> None:
    who = world.cloud()
    made = world.create(who.member, tags=["red"])[0]
    world.pump()
    delete(who, made)
    assert Work.objects.get(kind="build").state == "cancelled"
    conductor_connect().deleted(lease=world.order("h1", WorkKind.DELETE).lease)
    assert_nothing_is_left(made)
    reported = InstanceAction.objects.order_by("id").values_list("action", "result")
    assert list(reported) == [("create", "cancelled"), ("delete", "success")]
    assert AttemptRecord.objects.get().outcome == "cancelled"


def test_between_two_hosts_it_ends_at_once() -> None:
    who = world.cloud("h1", "h2")
    made = world.create(who.member)[0]
    world.pump()
    world.fail_build(world.instance_of(made.pk).host)
    delete(who, made)
    world.pump()
    assert world.hosts_with_work() == []
    assert_nothing_is_left(made)


def test_while_another_host_is_chosen_its_new_claim_goes_back(between: list[Any]) -> None:
    who = world.cloud("h1", "h2")
    made = world.create(who.member)[0]
    world.pump()
    Instance.objects.update(alternates=[])
    world.fail_build(world.instance_of(made.pk).host)
    between.append(lambda: delete(who, made))
    world.pump()
    assert world.hosts_with_work() == []
    assert_nothing_is_left(made)


def test_on_its_second_host_it_is_deleted_there() -> None:
    who = world.cloud("h1", "h2")
    made = world.create(who.member)[0]
    world.pump()
    world.fail_build(world.instance_of(made.pk).host)
    world.pump()
    second = world.instance_of(made.pk).host
    delete(who, made)
    conductor_connect().deleted(lease=world.order(second, WorkKind.DELETE).lease)
    assert_nothing_is_left(made)


def test_twice_is_one_deletion() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    delete(who, instance)
    delete(who, instance)
    assert Work.objects.filter(kind="delete").count() == 1
    assert InstanceAction.objects.filter(action="delete").count() == 1
    conductor_connect().deleted(lease=world.order("h1", WorkKind.DELETE).lease)
    with pytest.raises(NotFound):
        delete(who, instance)
    assert_nothing_is_left(instance)


def test_scheduled_again_and_deleted_while_it_is_chosen_leaves_nothing(between: list[Any]) -> None:
    who = world.cloud("small")
    world.flavor("huge", vcpus=8)
    made = world.create(who.member, flavor="huge")[0]
    world.pump()
    world.host("big", vcpus=16)
    instance_schedule_again(instance_id=made.pk, caller=who.member)
    between.append(lambda: delete(who, made))
    world.pump()
    assert world.hosts_with_work() == []
    assert_nothing_is_left(made)


def test_scheduling_again_and_deleting_at_once_has_one_winner() -> None:
    """Both wait for the same row: whoever comes second acts on what the first one left."""
    if connection.vendor == "sqlite":
        pytest.skip("threads do not share this database")
    who = world.cloud()
    world.flavor("huge", vcpus=8)
    made = [world.create(who.member, f"vm{number}", flavor="huge")[0] for number in range(4)]
    world.pump()
    for one in made:
        answers = _at_once(
            partial(instance_schedule_again, instance_id=one.pk, caller=who.member),
            partial(instance_schedule_again, instance_id=one.pk, caller=who.member),
            partial(delete, who, one),
        )
        assert answers[2] is None
        assert all(error is None or isinstance(error, Conflict | NotFound) for error in answers)
        assert answers[:2].count(None) <= 1
    world.pump()
    assert_nothing_is_left(*made)


def _at_once(*acts: Callable[[], object]) -> list[KilonovaError | None]:
    """Each in a thread of its own; what each raised."""
    errors: list[Any] = [None] * len(acts)
    start = threading.Barrier(len(acts))

    def run(number: int) -> None:
        start.wait()
        try:
            acts[number]()
        except Exception as error:  # noqa: BLE001 - told to the test, which judges it
            errors[number] = error
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(acts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def test_batch_whose_dispatch_fails_keeps_no_claim_no_request_and_no_work() -> None:
    """Its third row cannot be written, so none of the batch is; at its deadline all of it is moved to cell0."""
    who = world.cloud()
    made = world.create(who.member, min_count=3)
    AttemptRecord.objects.create(instance_uuid=made[2].pk, number=1, host="elsewhere", started_at=now_plus(0))
    world.pump()
    assert (Instance.objects.count(), world.hosts_with_work()) == (0, [])
    Work.objects.filter(kind="schedule_and_build").update(deadline_at=now_plus(-1))
    reconcile_once()
    assert set(Instance.objects.values_list("vm_state", flat=True)) == {"error"}
    assert (BuildRequest.objects.count(), allocations_by_consumer()) == (0, {})
    assert {one.cell_id.int for one in InstanceMapping.objects.all() if one.cell_id} == {0}
    assert audit_findings() == []


def test_limit_lowered_after_the_request_ends_the_batch_with_numbers_and_without_claims() -> None:
    who = world.cloud()
    world.create(who.member, min_count=2, tags=["red"])
    Project.objects.filter(pk=who.member.project_id).update(quota_instances=1)
    world.pump()
    assert set(Instance.objects.values_list("vm_state", "host")) == {("error", "")}
    messages = set(InstanceFault.objects.values_list("message", flat=True))
    assert messages == {"Over quota: instances: 2 in use, 1 allowed."}
    assert (allocations_by_consumer(), BuildRequest.objects.count(), world.hosts_with_work()) == ({}, 0, [])
    assert InstanceTag.objects.count() == 2
    assert Instance.objects.filter(decision_id__isnull=True).count() == 0
    assert audit_findings() == []


def test_quota_is_not_looked_at_again_where_that_is_switched_off(settings: Any) -> None:
    who = world.cloud()
    settings.KILONOVA = {**settings.KILONOVA, "QUOTA_RECHECK": False}
    world.create(who.member)
    Project.objects.filter(pk=who.member.project_id).update(quota_instances=0)
    world.pump()
    assert world.finish_builds() == 1


def test_each_instance_of_a_batch_is_mapped_to_the_cell_of_its_host() -> None:
    who = world.cloud("h1", "h2")
    cell2 = Cell.objects.create(name="cell2")
    HostMapping.objects.filter(host="h2").update(cell_id=cell2.pk)
    group = ServerGroup.objects.create(
        name="apart", project_id=who.member.project_id, user_id=who.member.user_id, policy="anti-affinity"
    )
    made = world.create(who.member, min_count=2, hints={"group": str(group.pk)})
    world.pump()
    cells = {world.instance_of(one.pk).host: InstanceMapping.objects.get(instance_uuid=one.pk).cell_id for one in made}
    assert cells == {"h1": HostMapping.objects.get(host="h1").cell_id, "h2": cell2.pk}
