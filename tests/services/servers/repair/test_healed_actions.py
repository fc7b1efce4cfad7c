"""An action whose work is lost ends as one whose host was silent: what a failure of it asks for is done."""

from collections.abc import Callable

import pytest

from controlplane.infra.db import now_plus
from controlplane.work.models import Work, WorkState
from servers.instances.domain.rebuild_rules import InstanceRebuild
from servers.instances.services.act import instance_act
from servers.instances.services.rescue import instance_rebuild
from servers.instances.services.reset_state import instance_reset_state
from servers.models import Image, Instance, InstanceAction, Volume, VolumeAttachment
from servers.repair.services.task_heal import lost_tasks_heal, overdue_tasks_heal
from tests.worlds import cloud as world
from tests.worlds.attachments import volume_in
from tests.worlds.cloud import People
from tests.worlds.volumes import active_from_volume

pytestmark = pytest.mark.django_db(transaction=True)

Ending = Callable[[People, Instance], object]


def overdue(_people: People, instance: Instance) -> object:
    Instance.objects.filter(pk=instance.pk).update(task_since=now_plus(-100_000.0))
    return overdue_tasks_heal()


def host_starts(_people: People, instance: Instance) -> object:
    return lost_tasks_heal(host=instance.host)


def reset(people: People, instance: Instance) -> object:
    return instance_reset_state(caller=people.admin, instance_id=instance.pk, state="error")


ENDINGS = pytest.mark.parametrize("end", [overdue, host_starts, reset])


def without_work(end: Ending, people: People, instance: Instance) -> str:
    """The task of the instance ends without its work; its state then."""
    Work.objects.filter(subject=instance.pk).exclude(state=WorkState.DONE).update(state=WorkState.CANCELLED)
    end(people, instance)
    row = world.instance_of(instance.pk)
    assert not row.task_state
    assert not InstanceAction.objects.filter(instance_uuid=row.pk, finished_at__isnull=True).exists()
    return row.vm_state


@ENDINGS
def test_boot_volume_of_a_lost_rebuild_says_that_it_may_be_half_made(end: Ending) -> None:
    people = world.cloud()
    instance = active_from_volume(people)
    wanted = InstanceRebuild(image=str(Image.objects.get().pk), reimage_boot_volume=True)
    instance_rebuild(caller=people.member, instance_id=instance.pk, wanted=wanted)
    assert Volume.objects.get().instance_uuid == instance.pk
    assert without_work(end, people, instance) == "error"
    root = Volume.objects.get()
    assert (root.instance_uuid, root.fault) == (None, "A rebuild that did not end may have left it half-made.")
    instance_rebuild(caller=people.member, instance_id=instance.pk, wanted=wanted)


@ENDINGS
def test_volume_of_a_lost_detach_is_attached_with_the_reason(end: Ending) -> None:
    people = world.cloud()
    instance = active_from_volume(people)
    root = Volume.objects.get()
    data = volume_in(root.pool, people.member.project_id, name="data")
    VolumeAttachment.objects.create(volume=data, instance_uuid=instance.pk, state="attached", device="vdb")
    Volume.objects.filter(pk=data.pk).update(state="in-use")
    instance_act(
        caller=people.member, instance_id=instance.pk, action="detach_volume", arguments={"volume": str(data.pk)}
    )
    assert VolumeAttachment.objects.get(volume=data).state == "detaching"
    without_work(end, people, instance)
    kept = VolumeAttachment.objects.get(volume=data)
    assert (kept.state, bool(kept.problem)) == ("attached", True)


@ENDINGS
def test_volume_of_a_lost_attach_stays_the_instances_with_the_reason(end: Ending) -> None:
    people = world.cloud()
    instance = active_from_volume(people)
    data = volume_in(Volume.objects.get().pool, people.member.project_id, name="data")
    instance_act(
        caller=people.member, instance_id=instance.pk, action="attach_volume", arguments={"volume": str(data.pk)}
    )
    assert VolumeAttachment.objects.get(volume=data).state == "attaching"
    without_work(end, people, instance)
    kept = VolumeAttachment.objects.get(volume=data)
    assert (kept.state, bool(kept.problem)) == ("error", True)
