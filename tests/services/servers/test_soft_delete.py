"""Deletion that can be undone: begun, undone, forced, and made final when its time is over."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.db.models import F
from django.test import override_settings

from computeagent.protocol.work import WorkKind
from controlplane.identity.models import Project
from controlplane.kernel.errors import Conflict, Forbidden, NotFound, QuotaExceeded
from controlplane.notifications.models import Notification
from controlplane.work.models import Work
from placement.models import Allocation
from servers.agent_api import conductor_connect
from servers.catalog.selectors.quota import quota_usage
from servers.instances.services.act import instance_act
from servers.instances.services.delete import instance_delete
from servers.instances.services.reclaim import MAX_IN_A_ROUND, soft_deleted_reclaim
from servers.instances.services.reset_state import instance_reset_state
from servers.models import Instance, InstanceAction, InstanceFault
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)
HOUR = 3600.0


def interval(seconds: float) -> override_settings:
    return override_settings(KILONOVA={**django_settings.KILONOVA, "RECLAIM_INSTANCE_INTERVAL_S": seconds})


@pytest.fixture(autouse=True)
def hour() -> Iterator[None]:
    with interval(HOUR):
        yield


def soft_deleted(who: world.People, name: str = "vm") -> Instance:
    """An instance that was deleted and is off."""
    instance = world.active(who.member, name)
    instance_delete(caller=who.member, instance_id=instance.pk)
    conductor_connect().action_done(lease=world.order("h1", WorkKind.SOFT_DELETE).lease, facts=world.OFF)
    return world.instance_of(instance.pk)


def restore(who: world.People, instance: Instance) -> None:
    instance_act(caller=who.member, instance_id=instance.pk, action="restore")


def states(instance: Instance) -> tuple[str, str, bool, bool]:
    """vm_state, task_state, whether it can be restored, whether it is gone."""
    row = world.instance_of(instance.pk)
    return row.vm_state, row.task_state, row.soft_deleted_at is not None, row.deleted_at is not None


def age(instance: Instance, seconds: float) -> None:
    rows = Instance.objects.filter(pk=instance.pk)
    rows.update(soft_deleted_at=F("soft_deleted_at") - timedelta(seconds=seconds))


def test_deletion_powers_off_and_keeps_all_but_the_quota() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    instance_delete(caller=who.member, instance_id=instance.pk)
    assert states(instance) == ("active", "soft-deleting", False, False)
    assert quota_usage(project_id=instance.project_id).instances == 1
    conductor_connect().action_done(lease=world.order("h1", WorkKind.SOFT_DELETE).lease, facts=world.OFF)
    assert states(instance) == ("soft-delete", "", True, False)
    assert world.instance_of(instance.pk).power_state == "shutdown"
    assert quota_usage(project_id=instance.project_id).instances == 0
    assert Allocation.objects.filter(consumer__uuid=instance.pk).exists()


def test_restore_brings_it_back_and_counts_again_from_its_beginning_on() -> None:
    who = world.cloud()
    instance = soft_deleted(who)
    restore(who, instance)
    assert states(instance) == ("soft-delete", "restoring", True, False)
    assert quota_usage(project_id=instance.project_id).instances == 1
    conductor_connect().action_done(lease=world.order("h1", WorkKind.RESTORE).lease, facts=world.RUNNING)
    assert states(instance) == ("active", "", False, False)
    row = world.instance_of(instance.pk)
    assert (row.power_state, row.addresses) == ("running", {"default": ["10.0.0.5"]})
    results = InstanceAction.objects.filter(instance_uuid=instance.pk).order_by("id").values_list("action", "result")
    assert list(results) == [("create", "success"), ("soft_delete", "success"), ("restore", "success")]


def test_restore_is_refused_over_quota_with_numbers_and_changes_nothing() -> None:
    who = world.cloud()
    instance = soft_deleted(who)
    Project.objects.filter(pk=instance.project_id).update(quota_instances=1)
    world.active(who.member, "other")
    with pytest.raises(QuotaExceeded, match="instances: 1 asked for, 1 of 1 in use"):
        restore(who, instance)
    assert states(instance) == ("soft-delete", "", True, False)
    assert not Work.objects.filter(kind=WorkKind.RESTORE).exists()


def test_deleting_again_changes_nothing_until_it_is_forced() -> None:
    who = world.cloud()
    instance = soft_deleted(who)
    since = world.instance_of(instance.pk).soft_deleted_at
    for _ in range(2):
        instance_delete(caller=who.member, instance_id=instance.pk)
    assert states(instance) == ("soft-delete", "", True, False)
    assert world.instance_of(instance.pk).soft_deleted_at == since
    for _ in range(2):
        instance_delete(caller=who.member, instance_id=instance.pk, is_forced=True)
    assert states(instance)[1] == "deleting"
    conductor_connect().deleted(lease=world.order("h1", WorkKind.DELETE).lease)
    assert states(instance) == ("deleted", "", False, True)
    assert not Allocation.objects.filter(consumer__uuid=instance.pk).exists()
    assert Work.objects.filter(kind=WorkKind.DELETE).count() == 1


@pytest.mark.parametrize("during", ["active", "soft-deleting", "restoring"])
def test_forced_deletion_takes_over_whatever_is_under_way(during: str) -> None:
    who = world.cloud()
    instance = soft_deleted(who) if during == "restoring" else world.active(who.member)
    if during == "soft-deleting":
        instance_delete(caller=who.member, instance_id=instance.pk)
    if during == "restoring":
        restore(who, instance)
    instance_delete(caller=who.member, instance_id=instance.pk, is_forced=True)
    assert world.instance_of(instance.pk).task_state == "deleting"
    assert [work.kind for work in Work.objects.filter(subject=instance.pk, state="waiting")] == ["delete"]
    conductor_connect().deleted(lease=world.order("h1", WorkKind.DELETE).lease)
    assert states(instance) == ("deleted", "", False, True)


def test_deletion_replaces_a_restore_that_is_under_way() -> None:
    who = world.cloud()
    instance = soft_deleted(who)
    restore(who, instance)
    instance_delete(caller=who.member, instance_id=instance.pk)
    conductor_connect().action_done(lease=world.order("h1", WorkKind.SOFT_DELETE).lease, facts=world.OFF)
    assert states(instance) == ("soft-delete", "", True, False)
    assert not Work.objects.filter(subject=instance.pk, state="waiting").exists()


def test_what_is_on_no_host_or_never_ran_is_deleted_at_once() -> None:
    who = world.cloud("h1", memory_mib=256)
    nowhere, waiting = world.create(who.member)[0], None
    world.pump()
    waiting = world.create(who.member, "next")[0]
    for instance in (nowhere, waiting):
        instance_delete(caller=who.member, instance_id=instance.pk)
    assert states(nowhere) == ("deleted", "", False, True)
    assert not Instance.objects.filter(pk=waiting.pk).exists()


def test_without_an_interval_nothing_is_soft_and_what_was_stays_until_somebody_acts() -> None:
    who = world.cloud()
    instance, other, third = soft_deleted(who), soft_deleted(who, "b"), world.active(who.member, "c")
    age(instance, 10 * HOUR)
    with interval(0.0):
        assert soft_deleted_reclaim() == 0
        instance_delete(caller=who.member, instance_id=third.pk)
        assert world.instance_of(third.pk).task_state == "deleting"
        restore(who, instance)
        instance_delete(caller=who.member, instance_id=other.pk)
    assert states(instance)[1] == "restoring"
    assert states(other)[1] == "deleting"


def test_host_that_cannot_power_off_leaves_it_as_it_was_with_a_fault() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    instance_delete(caller=who.member, instance_id=instance.pk)
    lease = world.order("h1", WorkKind.SOFT_DELETE).lease
    conductor_connect().action_failed(lease=lease, step="soft-deleting", message="libvirt hangs")
    assert states(instance) == ("active", "", False, False)
    assert "could not do it" in InstanceFault.objects.get(instance_uuid=instance.pk).message
    instance_delete(caller=who.member, instance_id=instance.pk)
    assert states(instance)[1] == "soft-deleting"


def test_reclaim_deletes_for_good_once_what_is_older_than_the_interval() -> None:
    who = world.cloud()
    old, young, restored = soft_deleted(who, "old"), soft_deleted(who, "young"), soft_deleted(who, "restored")
    age(old, HOUR + 5)
    age(restored, HOUR + 5)
    age(young, HOUR - 60)
    restore(who, restored)
    assert [soft_deleted_reclaim() for _ in range(2)] == [1, 0]
    assert states(old)[1] == "deleting"
    assert states(young) == ("soft-delete", "", True, False)
    assert states(restored)[1] == "restoring"
    action = InstanceAction.objects.get(instance_uuid=old.pk, action="delete")
    assert action.user_id is None
    conductor_connect().deleted(lease=world.order("h1", WorkKind.DELETE).lease)
    assert states(old) == ("deleted", "", False, True)


def test_round_of_the_reclaim_is_bounded_and_begins_with_the_oldest() -> None:
    who = world.cloud()
    template = soft_deleted(who)
    rows = []
    for number in range(MAX_IN_A_ROUND + 3):
        row = Instance.objects.get(pk=template.pk)
        row.pk, row.host, row.name = None, "", f"n{number}"
        row.id = Instance._meta.pk.get_default()
        row.soft_deleted_at = template.soft_deleted_at - timedelta(seconds=HOUR + 10 + number)
        rows.append(row)
    Instance.objects.bulk_create(rows)
    assert soft_deleted_reclaim() == MAX_IN_A_ROUND
    left = Instance.objects.filter(deleted_at__isnull=True).exclude(pk=template.pk)
    assert sorted(left.values_list("name", flat=True)) == ["n0", "n1", "n2"]
    assert [soft_deleted_reclaim() for _ in range(2)] == [3, 0]


def test_lock_refuses_its_project_but_keeps_nothing_past_its_time() -> None:
    who = world.cloud()
    instance = soft_deleted(who)
    instance_act(caller=who.member, instance_id=instance.pk, action="lock")
    for is_forced in (False, True):
        with pytest.raises(Conflict, match="locked by mary"):
            instance_delete(caller=who.member, instance_id=instance.pk, is_forced=is_forced)
    with pytest.raises(Conflict, match="locked by mary"):
        restore(who, instance)
    age(instance, HOUR + 5)
    assert soft_deleted_reclaim() == 1


def test_readers_and_strangers_may_not_and_administrators_may() -> None:
    who = world.cloud()
    instance = soft_deleted(who)
    for is_forced in (False, True):
        with pytest.raises(Forbidden):
            instance_delete(caller=who.reader, instance_id=instance.pk, is_forced=is_forced)
        with pytest.raises(NotFound):
            instance_delete(caller=who.stranger, instance_id=instance.pk, is_forced=is_forced)
    assert states(instance) == ("soft-delete", "", True, False)
    instance_delete(caller=who.admin, instance_id=instance.pk, is_forced=True)
    assert states(instance)[1] == "deleting"


@pytest.mark.parametrize("action", ["start", "stop", "reboot", "pause", "suspend"])
def test_soft_deleted_instance_takes_no_other_action(action: str) -> None:
    who = world.cloud()
    instance = soft_deleted(who)
    with pytest.raises(Conflict, match="The instance is soft-delete"):
        instance_act(caller=who.member, instance_id=instance.pk, action=action)


def test_reset_state_forgets_that_it_was_deleted() -> None:
    who = world.cloud()
    instance = soft_deleted(who)
    instance_reset_state(caller=who.admin, instance_id=instance.pk, state="active")
    assert states(instance) == ("active", "", False, False)


def test_events_of_both_are_novas(notifying: Any) -> None:
    notifying(EVENTS=("instance.*.start", "instance.*.end"))
    who = world.cloud()
    instance = world.active(who.member)
    Notification.objects.all().delete()
    instance_delete(caller=who.member, instance_id=instance.pk)
    conductor_connect().action_done(lease=world.order("h1", WorkKind.SOFT_DELETE).lease, facts=world.OFF)
    restore(who, instance)
    conductor_connect().action_done(lease=world.order("h1", WorkKind.RESTORE).lease, facts=world.RUNNING)
    told = set(Notification.objects.values_list("event_type", flat=True))
    assert told == {f"instance.{verb}.{phase}" for verb in ("soft_delete", "restore") for phase in ("start", "end")}


def test_api_shows_until_when_and_takes_force() -> None:
    who = world.cloud()
    instance = soft_deleted(who)
    client, url = world.client_of(who.member), f"/api/instances/{instance.pk}/"
    listed = client.get("/api/instances/?status=SOFT_DELETED").json()["results"]
    until = (world.instance_of(instance.pk).soft_deleted_at or 0) + timedelta(seconds=HOUR)  # type: ignore[operator]
    assert [one["id"] for one in listed] == [str(instance.pk)]
    assert listed[0]["restorable_until"] == until.isoformat().replace("+00:00", "Z")
    assert client.delete(f"{url}?force=perhaps").json()["error"]["field"] == "force"
    assert client.delete(url).status_code == 204
    assert client.get(url).json()["status"] == "SOFT_DELETED"
    assert client.delete(f"{url}?force=1").status_code == 204
    assert client.get(url).json()["task_state"] == "deleting"
