"""A bulk job: each item judged when its turn comes, committed with what it does, followed to its end, tried again."""

import uuid
from typing import Any

import pytest

from computeagent.protocol.work import WorkKind
from controlplane.audit_log.models import AuditLogEntry
from controlplane.identity.domain import Caller, Role
from controlplane.identity.models import RoleAssignment
from controlplane.kernel.errors import Conflict, Forbidden, Invalid
from controlplane.work.models import Work, WorkState
from controlplane.work.work import work_take
from servers.agent_api import conductor_connect
from servers.bulk.domain import BulkItemState
from servers.bulk.selectors import bulk_progress
from servers.bulk.services import run
from servers.bulk.services.jobs import bulk_job_cancel, bulk_job_create, bulk_job_retry, bulk_jobs_prune
from servers.instances.work_kinds import BULK_ACT
from servers.models import BulkJob, BulkJobItem, Instance, InstanceAction
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)


def rows(caller: Caller, *states: str, host: str = "h1") -> list[Instance]:
    """Instances in these states on a host, cheaper than built ones."""
    made = [
        Instance(
            name=f"vm-{number}",
            project_id=caller.project_id,
            user_id=caller.user_id,
            flavor={},
            vcpus=1,
            memory_mib=1,
            vm_state=state,
            host=host,
            launched_at="2026-01-01T00:00:00Z",
        )
        for number, state in enumerate(states, 1)
    ]
    return Instance.objects.bulk_create(made)


def job_of(caller: Caller, action: str, instances: list[Instance]) -> BulkJob:
    ids = [one.pk for one in instances]
    return bulk_job_create(caller=caller, action=action, ids=ids, confirmed=len(ids))


def states(job: BulkJob) -> list[tuple[str, str]]:
    return list(BulkJobItem.objects.filter(job=job).order_by("position").values_list("state", "reason"))


def test_each_item_is_judged_alone_and_followed_to_its_end() -> None:
    people = world.cloud("h1")
    instances = [world.active(people.member, name="good"), *rows(people.member, "paused"), world.active(people.member)]
    job = job_of(people.member, "stop", instances)
    assert [state for state, _ in states(job)] == ["waiting"] * 3
    world.pump()
    found = states(job)
    assert [state for state, _ in found] == ["running", "failed", "running"]
    assert found[1][1] == "The instance is paused; stop needs active or error."
    conductor_connect().action_done(lease=world.order("h1", WorkKind.STOP).lease, facts=world.OFF)
    run.bulk_items_follow()
    assert next(state for state, _ in states(job)) == "done"
    conductor_connect().action_done(lease=world.order("h1", WorkKind.STOP).lease, facts=world.OFF)
    run.bulk_items_follow()
    job.refresh_from_db()
    assert job.finished_at is not None
    assert bulk_progress([job.pk])[job.pk].state == "partly failed"


def test_what_the_host_could_not_do_is_the_items_reason() -> None:
    people = world.cloud("h1")
    job = job_of(people.member, "stop", [world.active(people.member)])
    world.pump()
    lease = world.order("h1", WorkKind.STOP).lease
    conductor_connect().action_failed(lease=lease, step="powering-off", message="no answer")
    run.bulk_items_follow()
    [(state, reason)] = states(job)
    assert (state, reason) == ("failed", InstanceAction.objects.get(action="stop").message)
    assert reason


def test_what_failed_is_tried_again_and_what_went_well_is_not() -> None:
    people = world.cloud("h1")
    instances = rows(people.member, "active", "active")
    job_of(people.member, "lock", instances[:1])
    world.pump()
    Instance.objects.filter(pk=instances[1].pk).update(vm_state="deleted", deleted_at="2026-01-01T00:00:00Z")
    job = job_of(people.member, "lock", instances)
    world.pump()
    assert [state for state, _ in states(job)] == ["done", "failed"]
    Instance.objects.filter(pk=instances[1].pk).update(vm_state="active", deleted_at=None)
    bulk_job_retry(caller=people.member, job_id=job.pk)
    world.pump()
    assert [state for state, _ in states(job)] == ["done", "done"]
    tries = list(BulkJobItem.objects.filter(job=job).order_by("position").values_list("tries", flat=True))
    assert tries == [1, 2]
    with pytest.raises(Conflict, match="No item"):
        bulk_job_retry(caller=people.member, job_id=job.pk)


def test_killed_between_items_nothing_is_lost_or_doubled() -> None:
    people = world.cloud("h1")
    job = job_of(people.member, "lock", rows(people.member, "active", "active", "active"))
    work = Work.objects.get(kind=BULK_ACT)
    taken = work_take(work_id=work.pk, owner="dies")
    assert taken is not None
    assert run._item_do(job, taken[1])
    Work.objects.filter(pk=work.pk).update(lease_until="2000-01-01T00:00:00Z")  # its process is gone
    again = work_take(work_id=work.pk, owner="lives")
    assert again is not None
    with pytest.raises(Exception, match="no longer the owner"):
        run._item_do(job, taken[1])
    run.bulk_act(*again)
    assert {state for state, _ in states(job)} == {"done"}
    assert InstanceAction.objects.filter(action="lock").count() == 3
    assert list(BulkJobItem.objects.filter(job=job).values_list("tries", flat=True)) == [1, 1, 1]


def test_a_long_job_gives_others_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "MAX_ITEMS_AT_ONCE", 2)
    people = world.cloud("h1")
    job = job_of(people.member, "lock", rows(people.member, *["active"] * 5))
    assert world.pump() >= 3
    assert {state for state, _ in states(job)} == {"done"}
    assert Work.objects.filter(kind=BULK_ACT, state=WorkState.DONE).count() == 3


def test_cancelling_ends_what_has_not_begun() -> None:
    people = world.cloud("h1")
    job = job_of(people.member, "lock", rows(people.member, "active", "active"))
    bulk_job_cancel(caller=people.member, job_id=job.pk)
    world.pump()
    assert {state for state, _ in states(job)} == {"cancelled"}
    assert not InstanceAction.objects.filter(action="lock").exists()
    job.refresh_from_db()
    assert job.finished_at is not None
    with pytest.raises(Conflict):
        bulk_job_cancel(caller=people.member, job_id=job.pk)


def test_roles_are_those_of_the_moment() -> None:
    people = world.cloud("h1")
    job = job_of(people.member, "lock", rows(people.member, "active"))
    RoleAssignment.objects.filter(user=people.member.user_id).update(role=Role.READER.value)
    world.pump()
    [(state, reason)] = states(job)
    assert state == "failed"
    assert "needs the role member" in reason


def test_instances_of_others_fail_as_if_asked_for_alone() -> None:
    people = world.cloud("h1")
    mine, theirs = rows(people.member, "active")[0], rows(people.stranger, "active")[0]
    job = bulk_job_create(caller=people.member, action="lock", ids=[mine.pk, theirs.pk, uuid.uuid4()])
    world.pump()
    assert [state for state, _ in states(job)] == ["done", "failed", "failed"]
    assert BulkJobItem.objects.get(job=job, position=2).name == ""
    assert not Instance.objects.get(pk=theirs.pk).locked


def test_deletion_needs_the_number_and_covers_requests_and_rows() -> None:
    people = world.cloud("h1")
    [pending] = world.create(people.member, "pending")
    ids = [pending.pk, rows(people.member, "error", host="")[0].pk]
    with pytest.raises(Invalid, match="Confirm it with 2") as caught:
        bulk_job_create(caller=people.member, action="delete", ids=ids)
    assert caught.value.field == "confirm"
    job = bulk_job_create(caller=people.member, action="delete", ids=ids, confirmed=2)
    run.bulk_act(*taken_of(job))
    assert [state for state, _ in states(job)] == ["done", "done"]
    assert not Instance.objects.filter(deleted_at__isnull=True).exists()


def taken_of(job: BulkJob) -> Any:
    return work_take(work_id=Work.objects.get(kind=BULK_ACT, subject=job.pk).pk, owner="test")


@pytest.mark.parametrize(("action", "error"), [("rebuild", Invalid), ("update", Invalid), ("nonsense", Invalid)])
def test_only_actions_for_many(action: str, error: type[Exception]) -> None:
    people = world.people()
    with pytest.raises(error, match="cannot be done to many"):
        bulk_job_create(caller=people.member, action=action, ids=[uuid.uuid4()], confirmed=1)


def test_readers_are_refused() -> None:
    people = world.people()
    with pytest.raises(Forbidden):
        bulk_job_create(caller=people.reader, action="lock", ids=[uuid.uuid4()])


def test_bounds(settings: Any) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "BULK_JOB_MAX_ITEMS": 2, "BULK_JOBS_MAX_OPEN": 1}
    people = world.cloud("h1")
    with pytest.raises(Invalid, match="at most 2 instances"):
        bulk_job_create(caller=people.member, action="lock", ids=[uuid.uuid4() for _ in range(3)])
    with pytest.raises(Invalid, match="at least one"):
        bulk_job_create(caller=people.member, action="lock", ids=[])
    job_of(people.member, "lock", rows(people.member, "active"))
    with pytest.raises(Conflict, match="1 bulk jobs under way"):
        job_of(people.member, "lock", rows(people.member, "active"))


def test_another_person_does_not_try_again_in_that_name() -> None:
    people = world.cloud("h1")
    job = job_of(people.member, "lock", rows(people.member, "deleted"))
    world.pump()
    with pytest.raises(Forbidden, match="mary asked for this job"):
        bulk_job_retry(caller=people.admin, job_id=job.pk)


def test_work_that_nobody_does_fails_what_waits() -> None:
    people = world.cloud("h1")
    job = job_of(people.member, "lock", rows(people.member, "active"))
    run.bulk_act_overdue(Work.objects.get(kind=BULK_ACT), "it passed its deadline")
    assert states(job) == [("failed", "It was not begun: it passed its deadline.")]
    job.refresh_from_db()
    assert job.finished_at is not None


def test_items_are_in_the_audit_log_in_the_name_of_the_asker() -> None:
    people = world.cloud("h1")
    client = world.client_of(people.member)
    one, gone = rows(people.member, "active", "paused")
    body = {"action": "stop", "instances": [str(one.pk), str(gone.pk)], "confirm": 2}
    assert client.post("/api/bulk-jobs/", body).status_code == 202
    world.pump()
    created = AuditLogEntry.objects.get(action="bulk_job.create")
    entries = {entry.target_name: entry for entry in AuditLogEntry.objects.filter(action="instance.stop")}
    assert {entry.request_id for entry in entries.values()} == {created.request_id}
    assert {(entry.user_name, entry.door) for entry in entries.values()} == {("mary", "bulk")}
    assert (entries["vm-1"].result, entries["vm-2"].result) == ("done", "refused")


def test_old_jobs_go() -> None:
    people = world.cloud("h1")
    job = job_of(people.member, "lock", rows(people.member, "active"))
    world.pump()
    assert bulk_jobs_prune() == 0
    BulkJob.objects.filter(pk=job.pk).update(finished_at="2020-01-01T00:00:00Z")
    assert bulk_jobs_prune() == 1
    assert not BulkJobItem.objects.exists()


def test_states_are_counted_in_one_query(django_assert_num_queries: Any) -> None:
    people = world.cloud("h1")
    jobs = [job_of(people.member, "lock", rows(people.member, "active", "active")) for _ in range(2)]
    with django_assert_num_queries(1):
        found = bulk_progress([job.pk for job in jobs])
    assert [one.waiting for one in found.values()] == [2, 2]
    assert BulkItemState.WAITING.value == "waiting"
