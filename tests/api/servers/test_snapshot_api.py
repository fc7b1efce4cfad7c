"""Snapshots, backups and shelving through the API: answers, refusals in its shape, and who may."""

from typing import Any

import pytest

from servers.models import Image
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)


def ask(caller: Any, instance: Any, **body: str) -> Any:
    return world.client_of(caller).post(f"/api/instances/{instance.pk}/actions/", body, format="json")


def test_answer_names_the_image_that_is_made() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    answer = ask(who.member, instance, action="snapshot", name="before the upgrade")
    image = Image.objects.get(instance_uuid=instance.pk)
    assert (answer.status_code, answer.json()["made_image_id"]) == (202, str(image.pk))
    assert answer.json()["task_state"] == "image_snapshot"
    shown = world.client_of(who.member).get(f"/api/images/{image.pk}/").json()
    assert (shown["status"], shown["properties"]["instance_uuid"]) == ("queued", str(instance.pk))
    assert world.client_of(who.stranger).get(f"/api/images/{image.pk}/").status_code == 404
    listed = world.client_of(who.member).get("/api/images/", {"instance": str(instance.pk)}).json()["results"]
    assert [one["id"] for one in listed] == [str(image.pk)]
    again = ask(who.member, instance, action="shelve")
    assert (again.status_code, again.json()["error"]["code"]) == (409, "conflict")


def test_actions_that_make_no_image_say_so() -> None:
    who = world.cloud()
    answer = ask(who.member, world.active(who.member), action="stop")
    assert (answer.status_code, answer.json()["made_image_id"]) == (202, None)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"action": "snapshot"}, "name"),
        ({"action": "backup", "name": "b", "rotation": "1"}, "backup_type"),
        ({"action": "backup", "name": "b", "backup_type": "daily", "rotation": "-1"}, "rotation"),
        ({"action": "backup", "name": "b", "backup_type": "daily", "rotation": 1001}, "rotation"),
        ({"action": "backup", "name": "b", "backup_type": "daily", "rotation": True}, "rotation"),
        ({"action": "shelve", "name": "b"}, "name"),
    ],
)
def test_what_is_wrong_names_its_field(body: dict[str, str], field: str) -> None:
    who = world.cloud()
    answer = ask(who.member, world.active(who.member), **body)
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, field)
    assert not Image.objects.filter(instance_uuid__isnull=False).exists()


def test_roles() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    assert ask(who.reader, instance, action="snapshot", name="s").status_code == 403
    assert ask(who.stranger, instance, action="snapshot", name="s").status_code == 404
    assert ask(who.member, instance, action="shelve_offload").status_code == 403
    assert ask(who.admin, instance, action="shelve_offload").status_code == 409
    assert ask(who.admin, instance, action="shelve").status_code == 202
