"""Bulk jobs of hosts, volumes, images, floating addresses and work; and that the end of a job is told once."""

import uuid
from typing import Any

import pytest

from computeagent.protocol.work import WorkKind
from controlplane.identity.domain import Caller, Role
from controlplane.identity.models import RoleAssignment, User
from controlplane.kernel.errors import Forbidden, Invalid
from controlplane.notifications.models import Notification
from controlplane.work.models import Work, WorkState
from scheduling.models import ComputeNode, Service
from servers.bulk.domain import BULK_RULES, BulkKind
from servers.bulk.services import run
from servers.bulk.services.jobs import bulk_job_create, bulk_job_retry
from servers.bulk.things.table import THINGS
from servers.instances.work_kinds import BULK_ACT
from servers.models import BulkJob, BulkJobItem, FloatingIP, Image, Volume
from servers.networks.services.floating_ips import floating_ip_create
from tests.worlds import cloud as world
from tests.worlds.routing import carrying_host, outside
from tests.worlds.volumes import storage_pool, volume_made, work_done, work_failed

pytestmark = pytest.mark.django_db(transaction=True)


def done(caller: Caller, kind: BulkKind, action: str, *ids: uuid.UUID, **more: Any) -> BulkJob:
    """A job that was asked for, and of which every item had its turn."""
    job = bulk_job_create(caller=caller, kind=kind, action=action, ids=ids, confirmed=len(ids), **more)
    world.pump()
    job.refresh_from_db()
    return job


def found(job: BulkJob) -> list[tuple[str, str]]:
    return list(BulkJobItem.objects.filter(job=job).order_by("position").values_list("state", "reason"))


def test_every_kind_has_actions_and_a_thing() -> None:
    assert set(THINGS) == set(BULK_RULES) == set(BulkKind)
    assert all(BULK_RULES.values())


def test_hosts_are_disabled_with_the_note_and_enabled_again() -> None:
    people = world.cloud("h1", "h2")
    nodes = [ComputeNode.objects.get(host=name).pk for name in ("h1", "h2")]
    job = done(people.admin, BulkKind.HOST, "disable", *nodes, uuid.uuid4(), note="firmware")
    assert [state for state, _ in found(job)] == ["done", "done", "failed"]
    assert set(Service.objects.values_list("disabled", "disabled_reason")) == {(True, "firmware")}
    assert BulkJobItem.objects.get(job=job, position=1).name == "h1"
    done(people.admin, BulkKind.HOST, "enable", *nodes)
    assert not Service.objects.filter(disabled=True).exists()


def test_volumes_are_followed_until_a_host_has_deleted_them() -> None:
    people = world.cloud("h1")
    storage_pool("shared", "h1")
    first, second = volume_made(people.member, name="a"), volume_made(people.member, name="b")
    job = done(people.member, BulkKind.VOLUME, "delete", first.pk, second.pk)
    assert [state for state, _ in found(job)] == ["running", "running"]
    work_done(first.pk)
    work_failed(second.pk, "The disk is full.")
    run.bulk_items_follow()
    (state, _), (failed, reason) = found(job)
    assert (state, failed) == ("done", "failed")
    assert "The disk is full." in reason
    assert not Volume.objects.filter(pk=first.pk).exists()


def test_detaching_what_nobody_has_is_done() -> None:
    people = world.cloud("h1")
    storage_pool("shared", "h1")
    job = done(people.member, BulkKind.VOLUME, "detach", volume_made(people.member).pk)
    assert found(job) == [("done", "")]


def test_volumes_of_others_fail_as_if_asked_for_alone() -> None:
    people = world.cloud("h1")
    storage_pool("shared", "h1")
    theirs = volume_made(people.stranger, name="secret")
    job = done(people.member, BulkKind.VOLUME, "delete", theirs.pk)
    assert [state for state, _ in found(job)] == ["failed"]
    assert BulkJobItem.objects.get(job=job).name == ""
    assert Volume.objects.filter(pk=theirs.pk, state="available").exists()


def test_images_are_deactivated_reactivated_and_deleted() -> None:
    people = world.cloud("h1")
    free, kept = world.image("free"), world.image("kept", protected=True)
    done(people.admin, BulkKind.IMAGE, "deactivate", free.pk, kept.pk)
    assert set(Image.objects.filter(pk__in=[free.pk, kept.pk]).values_list("status", flat=True)) == {"deactivated"}
    done(people.admin, BulkKind.IMAGE, "reactivate", free.pk, kept.pk)
    job = done(people.admin, BulkKind.IMAGE, "delete", free.pk, kept.pk)
    assert found(job) == [("done", ""), ("failed", "Image kept is protected.")]
    with pytest.raises(Forbidden):
        bulk_job_create(caller=people.member, kind=BulkKind.IMAGE, action="deactivate", ids=[kept.pk], confirmed=1)


def test_floating_addresses_are_given_back(settings: Any) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "NETWORK_KIND": "bridge"}
    people = world.cloud("h1")
    carrying_host("h3", "physnet1")
    public = outside()
    made = [floating_ip_create(caller=people.member, network_id=public.pk).pk for _ in range(2)]
    assert found(done(people.member, BulkKind.FLOATING_IP, "release", *made)) == [("done", ""), ("done", "")]
    assert not FloatingIP.objects.exists()


def test_work_is_cancelled_but_no_job_cancels_itself() -> None:
    people = world.cloud("h1")
    world.create(people.member, "web")
    world.pump()
    build = Work.objects.get(kind=WorkKind.BUILD)
    asked = bulk_job_create(caller=people.admin, kind=BulkKind.WORK, action="cancel", ids=[build.pk], confirmed=1)
    own = Work.objects.get(kind=BULK_ACT)
    job = done(people.admin, BulkKind.WORK, "cancel", own.pk)
    assert found(asked) == [("done", "")]
    assert Work.objects.get(pk=build.pk).state == WorkState.CANCELLED
    [(state, reason)] = found(job)
    assert (state, reason) == ("failed", "It is the work of a bulk job. Cancel that job on its own page.")


@pytest.mark.parametrize(
    ("kind", "action", "more", "field"),
    [
        (BulkKind.HOST, "delete", {}, "action"),
        (BulkKind.IMAGE, "reactivate", {"note": "why"}, "note"),
        (BulkKind.HOST, "disable", {"note": "a\nb"}, "note"),
        (BulkKind.VOLUME, "delete", {"confirmed": None}, "confirm"),
    ],
)
def test_what_does_not_go_together_is_refused(kind: BulkKind, action: str, more: dict[str, Any], field: str) -> None:
    people = world.people()
    given = {"confirmed": 1, **more}
    with pytest.raises(Invalid) as caught:
        bulk_job_create(caller=people.admin, kind=kind, action=action, ids=[uuid.uuid4()], **given)
    assert caught.value.field == field
    assert not BulkJob.objects.exists()


def test_who_is_no_admin_any_more_disables_nothing() -> None:
    people = world.cloud("h1")
    node = ComputeNode.objects.get(host="h1").pk
    job = bulk_job_create(caller=people.admin, kind=BulkKind.HOST, action="disable", ids=[node])
    RoleAssignment.objects.filter(user=people.admin.user_id).update(role=Role.READER.value)
    User.objects.filter(pk=people.admin.user_id).update(is_superuser=False)
    world.pump()
    assert [state for state, _ in found(job)] == ["failed"]
    assert not Service.objects.filter(disabled=True).exists()


def test_the_end_is_told_once_and_again_after_a_retry(notifying: Any) -> None:
    notifying(EVENTS=("bulk_job.*",))
    people = world.cloud("h1")
    free, kept = world.image("free"), world.image("kept", protected=True)
    job = done(people.admin, BulkKind.IMAGE, "delete", free.pk, kept.pk)
    run.bulk_items_follow()
    told = Notification.objects.get()
    data = told.payload["nova_object.data"]
    assert (told.event_type, told.priority) == ("bulk_job.error", "ERROR")
    assert (data["kind"], data["action"], data["done"], data["failed"]) == ("image", "delete", 1, 1)
    Image.objects.filter(pk=kept.pk).update(protected=False)
    bulk_job_retry(caller=people.admin, job_id=job.pk)
    world.pump()
    assert [one.event_type for one in Notification.objects.order_by("created_at")] == ["bulk_job.error", "bulk_job.end"]
