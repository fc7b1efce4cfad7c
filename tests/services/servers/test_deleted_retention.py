"""What a deleted instance leaves behind, and for how long; likewise images, sessions and the admin's log."""

import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.contrib.admin.models import LogEntry
from django.contrib.sessions.models import Session
from django.db.models import F
from django.test import override_settings
from django.utils import timezone

from computeagent.protocol.work import WorkKind
from controlplane.identity.models import User
from controlplane.identity.services.sessions import admin_log_prune, sessions_prune
from controlplane.infra.db import now_plus
from controlplane.notifications.models import Notification
from controlplane.work.jobs import PERIODIC_TASKS
from servers.agent_api import conductor_connect
from servers.instances.services import prune
from servers.instances.services.delete import instance_delete
from servers.instances.services.prune import deleted_images_prune, deleted_instances_prune
from servers.models import (
    AttemptRecord,
    Image,
    Instance,
    InstanceAction,
    InstanceActionEvent,
    InstanceFault,
    InstanceMapping,
    InstanceTag,
    RequestSpec,
)
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)
HISTORY = (InstanceAction, AttemptRecord, InstanceFault)
LONG_AGO_S = -31 * 86400.0


def ended(who: world.People, name: str = "vm") -> Instance:
    """An instance that lived on h1, with all that an instance can have, and is deleted."""
    more = {"user_data": "c2VjcmV0", "metadata": {"password": "secret"}, "tags": ["web"]}
    made = world.active(who.member, name, **more)
    Instance.objects.filter(pk=made.pk).update(public_key="ssh-ed25519 AAAA mary", console_socket="/run/vnc.sock")
    InstanceFault.objects.create(instance_uuid=made.pk, message="once")
    instance_delete(caller=who.member, instance_id=made.pk)
    conductor_connect().deleted(lease=world.order("h1", WorkKind.DELETE).lease)
    return Instance.objects.get(pk=made.pk)


def long_ago(*instances: Instance) -> None:
    Instance.objects.filter(pk__in=[one.pk for one in instances]).update(deleted_at=now_plus(LONG_AGO_S))


def history_of(instance: Instance) -> list[int]:
    return [model._default_manager.filter(instance_uuid=instance.pk).count() for model in HISTORY]


def test_deleted_instance_keeps_no_secret_of_its_owner() -> None:
    gone = ended(world.cloud("h1"))
    assert (gone.user_data, gone.public_key, gone.metadata, gone.addresses, gone.console_socket) == ("", "", {}, {}, "")
    assert gone.name == "vm"
    assert not InstanceTag.objects.exists()


def test_instance_that_never_had_a_host_keeps_none_either() -> None:
    who = world.cloud("h1")
    made = world.active(who.member, user_data="c2VjcmV0")
    Instance.objects.filter(pk=made.pk).update(host="", vm_state="error")
    instance_delete(caller=who.member, instance_id=made.pk)
    assert (world.instance_of(made.pk).vm_state, world.instance_of(made.pk).user_data) == ("deleted", "")


def test_notification_of_the_end_still_has_what_the_instance_had(notifying: Any) -> None:
    notifying(EVENTS=("instance.*",))
    ended(world.cloud("h1"))
    reported = Notification.objects.get(event_type="instance.delete.end").payload
    assert reported["nova_object.data"]["metadata"] == {"password": "secret"}


def test_instance_that_was_deleted_long_ago_goes_with_all_that_hangs_on_it() -> None:
    who = world.cloud("h1")
    gone, lately, living = ended(who, "a"), ended(who, "b"), world.active(who.member, "c", tags=["web"])
    kept = history_of(lately), history_of(living)
    RequestSpec.objects.create(
        instance_uuid=gone.pk, reservation_id=gone.pk, project_id=gone.project_id, user_id=gone.user_id, body={}
    )
    long_ago(gone)
    assert deleted_instances_prune() == 1
    assert set(Instance.objects.all()) == {lately, living}
    assert history_of(gone) == [0, 0, 0]
    assert not InstanceActionEvent.objects.filter(action__instance_uuid=gone.pk).exists()
    assert (history_of(lately), history_of(living)) == kept
    assert set(RequestSpec.objects.values_list("instance_uuid", flat=True)) == {living.pk}
    assert set(InstanceMapping.objects.values_list("instance_uuid", flat=True)) == {living.pk}
    assert InstanceTag.objects.count() == 1
    assert deleted_instances_prune() == 0


def test_history_of_a_request_that_never_became_a_row_goes_too_and_that_of_a_waiting_one_stays() -> None:
    who = world.cloud("h1")
    waiting = world.create(who.member)[0]
    nobody = uuid.uuid4()
    for uid in (waiting.pk, nobody):
        InstanceAction.objects.create(instance_uuid=uid, action="create", started_at=now_plus(LONG_AGO_S))
        AttemptRecord.objects.create(
            instance_uuid=uid, number=1, host="h", started_at=now_plus(LONG_AGO_S), finished_at=now_plus(LONG_AGO_S)
        )
        InstanceFault.objects.create(instance_uuid=uid, message="x")
    InstanceFault.objects.update(created_at=now_plus(LONG_AGO_S))
    living = world.active(who.member, "living")
    InstanceAction.objects.filter(instance_uuid=living.pk).update(started_at=F("started_at") - timedelta(days=400))
    deleted_instances_prune()
    for model in HISTORY:
        assert waiting.pk in set(model._default_manager.values_list("instance_uuid", flat=True)), model
        assert nobody not in set(model._default_manager.values_list("instance_uuid", flat=True)), model
    assert InstanceAction.objects.filter(instance_uuid=living.pk).exists()


def test_one_with_a_long_history_goes_in_small_batches() -> None:
    gone = ended(world.cloud("h1"))
    count = 2 * prune.BATCH + 3
    InstanceAction.objects.bulk_create(
        InstanceAction(instance_uuid=gone.pk, action="start", started_at=timezone.now()) for _ in range(count)
    )
    long_ago(gone)
    assert deleted_instances_prune() == 1
    assert not InstanceAction.objects.exists()


def test_retention_of_nothing_keeps_all() -> None:
    gone = ended(world.cloud("h1"))
    long_ago(gone)
    Image.objects.update(status="deleted", deleted_at=now_plus(LONG_AGO_S), project=gone.project_id)
    with override_settings(KILONOVA={**django_settings.KILONOVA, "DELETED_RETENTION_DAYS": 0.0}):
        assert (deleted_instances_prune(), deleted_images_prune()) == (0, 0)
    assert Instance.objects.filter(pk=gone.pk).exists()


def test_rows_of_images_deleted_long_ago_go_but_not_those_of_the_installation() -> None:
    who = world.people()
    long = {"status": "deleted", "deleted_at": timezone.now() - timedelta(days=31)}
    world.image("gone", project_id=who.member.project_id, **long)
    lately = world.image("lately", project_id=who.member.project_id, status="deleted", deleted_at=timezone.now())
    demo = world.image("demo", **long)
    living = world.image("living", project_id=who.member.project_id)
    assert deleted_images_prune() == 1
    assert set(Image.objects.all()) == {lately, demo, living}


def test_expired_sessions_and_old_entries_of_the_admins_log_go() -> None:
    Session.objects.create(session_key="old", session_data="", expire_date=timezone.now() - timedelta(seconds=5))
    Session.objects.create(session_key="new", session_data="", expire_date=timezone.now() + timedelta(days=1))
    user = User.objects.create_user(username="u", password="p")
    for days in (366, 1):
        entry = LogEntry.objects.create(user=user, action_flag=1, object_repr=str(days))
        LogEntry.objects.filter(pk=entry.pk).update(action_time=timezone.now() - timedelta(days=days))
    sessions_prune()
    assert admin_log_prune() == 1
    assert [one.session_key for one in Session.objects.all()] == ["new"]
    assert [one.object_repr for one in LogEntry.objects.all()] == ["1"]


def test_all_of_it_is_done_periodically() -> None:
    assert {"deleted instances", "deleted images", "expired sessions", "admin log"} <= set(PERIODIC_TASKS)
