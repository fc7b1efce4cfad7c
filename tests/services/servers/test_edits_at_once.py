"""Two who change, restore or reclaim at the same moment: one after the other, and nothing twice (PostgreSQL)."""

import threading
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.db import connection
from django.db.models.functions import Now
from django.test import override_settings

from controlplane.identity.models import Project
from controlplane.kernel.errors import Conflict, QuotaExceeded
from controlplane.work.models import Work
from servers.instances.selectors.instances import instance_details
from servers.instances.services.act import instance_act
from servers.instances.services.delete import instance_delete
from servers.instances.services.reclaim import soft_deleted_reclaim
from servers.instances.services.update import instance_update, metadata_item_set, tag_add
from servers.models import Instance
from tests.worlds import cloud as world

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif("connection.vendor == 'sqlite'", reason="threads do not share this database"),
]


def at_once(*acts: Callable[[], object]) -> list[Any]:
    """Each in a thread of its own; what each gave or raised."""
    answers: list[Any] = [None] * len(acts)
    start = threading.Barrier(len(acts))

    def run(number: int) -> None:
        start.wait()
        try:
            answers[number] = acts[number]()
        except Exception as error:  # noqa: BLE001 - told to the test, which judges it
            answers[number] = error
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(acts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def soft_deleted(instance: Instance, *, hours_ago: int) -> None:
    rows = Instance.objects.filter(pk=instance.pk)
    rows.update(vm_state="soft-delete", soft_deleted_at=Now() - timedelta(hours=hours_ago))


def hour() -> override_settings:
    return override_settings(KILONOVA={**django_settings.KILONOVA, "RECLAIM_INSTANCE_INTERVAL_S": 3600.0})


def test_items_and_tags_that_are_set_at_once_are_all_there() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    given: dict[str, Any] = {"caller": who.member, "instance_id": instance.pk}
    items = [partial(metadata_item_set, **given, key=f"k{number}", value="v") for number in range(4)]
    tags = [partial(tag_add, **given, tag=f"t{number}") for number in range(4)]
    assert all(isinstance(answer, Instance) for answer in at_once(*items, *tags))
    now = instance_details(world.instance_of(instance.pk))
    assert sorted(now.metadata) == ["k0", "k1", "k2", "k3"]
    assert now.tags == ("t0", "t1", "t2", "t3")


def test_of_editors_with_the_same_etag_one_wins() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    etag = instance_details(instance).etag
    edits = [
        partial(instance_update, caller=who.member, instance_id=instance.pk, changes={"name": f"n{number}"}, etag=etag)
        for number in range(4)
    ]
    answers = at_once(*edits)
    won = [answer.name for answer in answers if isinstance(answer, Instance)]
    assert [type(answer) for answer in answers if not isinstance(answer, Instance)] == [Conflict] * 3
    assert won == [world.instance_of(instance.pk).name]


def test_restores_at_once_do_not_go_over_the_quota_together() -> None:
    who = world.cloud()
    made = [world.active(who.member, f"vm{number}") for number in range(4)]
    for one in made:
        soft_deleted(one, hours_ago=0)
    Project.objects.filter(pk=who.member.project_id).update(quota_instances=2)
    asked = [partial(instance_act, caller=who.member, instance_id=one.pk, action="restore") for one in made]
    with hour():
        answers = at_once(*asked)
    assert sum(isinstance(answer, Instance) for answer in answers) == 2
    assert sum(isinstance(answer, QuotaExceeded) for answer in answers) == 2
    assert Instance.objects.filter(task_state="restoring").count() == 2


def test_reclaims_deletions_and_restores_at_once_begin_one_thing_for_each() -> None:
    who = world.cloud()
    made = [world.active(who.member, f"vm{number}") for number in range(3)]
    for one in made:
        soft_deleted(one, hours_ago=2)
    with hour():
        answers = at_once(
            soft_deleted_reclaim,
            soft_deleted_reclaim,
            partial(instance_delete, caller=who.member, instance_id=made[0].pk, is_forced=True),
            partial(instance_act, caller=who.member, instance_id=made[1].pk, action="restore"),
        )
    assert all(answer is None or isinstance(answer, int | Instance | Conflict) for answer in answers), answers
    waiting = Work.objects.filter(state="waiting")
    assert sorted(waiting.values_list("subject", flat=True)) == sorted(one.pk for one in made)
    assert waiting.exclude(kind="delete").count() == (1 if isinstance(answers[3], Instance) else 0)
