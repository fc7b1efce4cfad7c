"""Name, description, metadata and tags after creation: who may, when, what is told, and that no change is lost."""

from typing import Any

import pytest

from controlplane.identity.domain import Caller
from controlplane.infra.db import now_plus
from controlplane.kernel.errors import Conflict, Forbidden, InvalidFields, NotFound, QuotaExceeded
from controlplane.notifications.models import Notification
from servers.instances.selectors.instances import instance_details, instance_get
from servers.instances.services.act import instance_act
from servers.instances.services.delete import instance_delete
from servers.instances.services.schedule_again import instance_schedule_again
from servers.instances.services.update import (
    instance_update,
    metadata_item_delete,
    metadata_item_set,
    tag_add,
    tag_remove,
)
from servers.models import Instance, InstanceAction
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)
ALL: dict[str, Any] = {"name": "db", "description": "Ours.", "metadata": {"k": "v"}, "tags": ["b", "a", "b"]}


def update(caller: Caller, instance: Instance, etag: str | None = None, **changes: Any) -> Instance:
    return instance_update(caller=caller, instance_id=instance.pk, changes=changes, etag=etag)


def details_of(instance: Instance) -> tuple[str, str, dict[str, str], tuple[str, ...]]:
    now = instance_details(world.instance_of(instance.pk))
    return now.name, now.description, dict(now.metadata), now.tags


@pytest.mark.parametrize("who_asks", ["member", "admin"])
def test_what_is_given_is_replaced_and_what_is_left_out_stays(who_asks: str) -> None:
    who = world.cloud()
    instance = world.active(who.member)
    caller: Caller = getattr(who, who_asks)
    update(caller, instance, **ALL)
    assert details_of(instance) == ("db", "Ours.", {"k": "v"}, ("a", "b"))
    update(caller, instance, metadata={"other": "w"}, tags=["c"])
    assert details_of(instance) == ("db", "Ours.", {"other": "w"}, ("c",))
    update(caller, instance, description="", metadata={}, tags=[])
    assert details_of(instance) == ("db", "", {}, ())
    assert world.instance_of(instance.pk).hostname == instance.hostname


def test_reader_is_forbidden_and_a_stranger_finds_nothing() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    with pytest.raises(Forbidden, match="instances:update needs the role member"):
        update(who.reader, instance, name="mine")
    with pytest.raises(NotFound):
        update(who.stranger, instance, name="mine")
    assert world.instance_of(instance.pk).name == "vm"
    assert not InstanceAction.objects.filter(action="update").exists()


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"name": " "}, "name"),
        ({"name": "x" * 256}, "name"),
        ({"description": "x" * 256}, "description"),
        ({"metadata": {f"k{number}": "v" for number in range(1001)}}, "metadata"),
        ({"metadata": {"k/": "v"}}, "metadata"),
        ({"metadata": {"k": "a\x00b"}}, "metadata"),
        ({"tags": [f"t{number}" for number in range(51)]}, "tags"),
        ({"tags": ["a,b"]}, "tags"),
        ({"host": "h2"}, "host"),
    ],
)
def test_rules_of_creation_hold_and_nothing_of_a_refused_change_is_written(changes: dict[str, Any], field: str) -> None:
    who = world.cloud()
    instance = world.active(who.member)
    with pytest.raises(InvalidFields) as refused:
        update(who.member, instance, **{"name": "db", **changes})
    assert set(refused.value.errors) == {field}
    assert details_of(instance) == ("vm", "", {}, ())


def test_single_keys_and_tags_leave_the_others_alone() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    given: dict[str, Any] = {"caller": who.member, "instance_id": instance.pk}
    for _ in range(2):
        metadata_item_set(**given, key="a", value="1")
        tag_add(**given, tag="x")
    metadata_item_set(**given, key="b", value="2")
    tag_add(**given, tag="y")
    metadata_item_delete(**given, key="a")
    tag_remove(**given, tag="x")
    assert details_of(instance)[2:] == ({"b": "2"}, ("y",))
    with pytest.raises(NotFound, match="no metadata item 'a'"):
        metadata_item_delete(**given, key="a")
    with pytest.raises(NotFound, match="no tag 'x'"):
        tag_remove(**given, tag="x")
    assert InstanceAction.objects.filter(action="update", result="success").count() == 6


def test_last_item_that_there_is_room_for_is_taken_and_one_more_refused() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    update(who.member, instance, metadata={f"k{number}": "v" for number in range(127)})
    metadata_item_set(caller=who.member, instance_id=instance.pk, key="k127", value="v")
    with pytest.raises(QuotaExceeded, match="metadata_items: 129 asked for, at most 128 allowed"):
        metadata_item_set(caller=who.member, instance_id=instance.pk, key="k128", value="v")
    assert len(world.instance_of(instance.pk).metadata) == 128


def test_of_two_editors_who_read_the_same_the_second_is_told() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    etag = instance_details(instance).etag
    update(who.member, instance, etag=etag, metadata={"owner": "ann"})
    with pytest.raises(Conflict, match="Somebody else changed it since it was read") as refused:
        update(who.admin, instance, etag=etag, metadata={"owner": "bob"})
    assert refused.value.field == "etag"
    assert details_of(instance)[2] == {"owner": "ann"}
    now = instance_details(world.instance_of(instance.pk)).etag
    update(who.admin, instance, etag=now, metadata={"owner": "bob"})
    assert details_of(instance)[2] == {"owner": "bob"}


def test_what_hosts_and_actions_change_does_not_make_an_editor_read_again() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    etag = instance_details(instance).etag
    instance_act(caller=who.member, instance_id=instance.pk, action="stop")
    update(who.member, instance, etag=etag, name="db", tags=["x"])
    row = world.instance_of(instance.pk)
    assert (row.name, row.task_state) == ("db", "powering-off")


@pytest.mark.parametrize("state", ["error", "building", "rescued", "soft-delete"])
def test_name_changes_in_any_state_but_metadata_and_tags_only_in_those_that_nova_has(state: str) -> None:
    who = world.cloud()
    instance = world.active(who.member)
    Instance.objects.filter(pk=instance.pk).update(vm_state=state)
    update(who.member, instance, name="db", description="Broken.", metadata={}, tags=[])
    for change in ({"metadata": {"k": "v"}}, {"tags": ["x"]}):
        with pytest.raises(Conflict, match=f"The instance is {state}; metadata write needs active or paused"):
            update(who.member, instance, name="other", **change)
    assert details_of(instance) == ("db", "Broken.", {}, ())


def test_instance_that_is_being_deleted_or_waits_for_a_host_is_refused() -> None:
    who = world.cloud()
    instance, waiting = world.active(who.member), world.create(who.member, "next")[0]
    with pytest.raises(Conflict, match="no row to change yet"):
        update(who.member, waiting, name="db")
    with pytest.raises(InvalidFields):
        update(who.member, waiting, name=" ")
    instance_delete(caller=who.member, instance_id=instance.pk)
    with pytest.raises(Conflict, match="busy with deleting"):
        update(who.member, instance, name="db")
    assert instance_get(caller=who.member, instance_id=waiting.pk).name == "next"


def test_lock_holds_for_its_project_and_not_for_administrators() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    instance_act(caller=who.member, instance_id=instance.pk, action="lock", arguments={"reason": "month-end"})
    with pytest.raises(Conflict, match=r"locked by mary \(month-end\); unlock it first"):
        update(who.member, instance, name="db")
    with pytest.raises(Conflict, match="locked by mary"):
        tag_add(caller=who.member, instance_id=instance.pk, tag="x")
    update(who.admin, instance, name="db")
    assert details_of(instance) == ("db", "", {}, ())


def test_change_is_in_the_journal_once_without_values_and_tells_one_event(notifying: Any) -> None:
    notifying(EVENTS=("instance.*",))
    who = world.cloud()
    instance = world.active(who.member)
    update(who.member, instance, metadata={"old": "1", "same": "2"}, tags=["old"])
    Notification.objects.all().delete()
    for _ in range(2):
        update(who.admin, instance, name="db", metadata={"same": "secret", "new": "3"}, tags=["new"])
    action = InstanceAction.objects.filter(action="update").latest("id")
    assert InstanceAction.objects.filter(action="update").count() == 2
    assert (action.user_id, action.result) == (who.admin.user_id, "success")
    assert action.message == "name: vm is now db; metadata: +new, -old, same; tags: +new, -old"
    told = Notification.objects.get()
    facts = told.payload["nova_object.data"]
    assert (told.event_type, facts["old_display_name"], facts["display_name"]) == ("instance.update", "vm", "db")
    assert (facts["tags"], facts["metadata"]) == (["new"], {"same": "secret", "new": "3"})
    change = facts["state_update"]["nova_object.data"]
    assert (change["old_state"], change["state"]) == ("active", "active")
    assert facts["action_initiator_user"] == str(who.admin.user_id)
    told.delete()
    update(who.member, instance, tags=[])
    later = Notification.objects.get().payload["nova_object.data"]
    assert (later["old_display_name"], later["tags"]) == (None, [])


def test_changes_outlive_a_new_try_to_find_a_host() -> None:
    who = world.cloud("h1", memory_mib=256)
    instance = world.create(who.member)[0]
    world.pump()
    update(who.member, instance, name="db", description="Again.")
    instance_schedule_again(instance_id=instance.pk, caller=who.member)
    pending = instance_get(caller=who.member, instance_id=instance.pk)
    assert (pending.is_pending, pending.name, pending.description) == (True, "db", "Again.")


def test_burst_of_changes_is_ten_rows_of_the_journal_and_the_last_says_the_rest() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    for number in range(30):
        metadata_item_set(caller=who.member, instance_id=instance.pk, key=f"k{number % 15}", value=str(number))
    rows = InstanceAction.objects.filter(instance_uuid=instance.pk, action="update").order_by("started_at", "pk")
    assert rows.count() == 10
    last = rows[9].message.split("; ")
    assert last[0] == "metadata: +k9"
    assert "metadata: +k14" in last
    assert "metadata: k3" in last
    assert len(last) == len(set(last))
    tag_add(caller=who.admin, instance_id=instance.pk, tag="by-another")
    rows.update(started_at=now_plus(-61))
    tag_add(caller=who.member, instance_id=instance.pk, tag="later")
    assert [row.message for row in rows.order_by("-pk")[:2]] == ["tags: +later", "tags: +by-another"]
