"""The record of heals in Django's admin: for superusers to read, and for nobody to write."""

import uuid

import pytest
from django.test import Client
from django.urls import reverse

from controlplane.identity.models import User
from controlplane.work.heals import heal_record
from controlplane.work.models import Heal
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db
LIST = "admin:work_heal_changelist"


@pytest.fixture
def heal() -> Heal:
    heal_record(
        kind="overdue_task", subject=uuid.uuid4(), found="It hung.", done="It ended.", evidence={"stood_s": 901}
    )
    return Heal.objects.get()


@pytest.fixture
def boss() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser(username="boss", password="a-long-password"))
    return client


def change_url(heal: Heal) -> str:
    return reverse("admin:work_heal_change", args=[heal.pk])


def test_list_shows_what_was_found_and_done(boss: Client, heal: Heal) -> None:
    page = boss.get(reverse(LIST)).content.decode()
    assert "It hung." in page
    assert "It ended." in page


def test_record_shows_the_evidence(boss: Client, heal: Heal) -> None:
    assert "901" in boss.get(change_url(heal)).content.decode()


def test_record_can_be_neither_made_nor_changed_nor_deleted(boss: Client, heal: Heal) -> None:
    assert boss.get(reverse("admin:work_heal_add")).status_code == 403
    assert boss.post(change_url(heal), {"found": "nothing"}).status_code == 403
    assert boss.post(reverse("admin:work_heal_delete", args=[heal.pk]), {"post": "yes"}).status_code == 403
    heal.refresh_from_db()
    assert heal.found == "It hung."


@pytest.mark.parametrize("who", ["root", "mary", "rita", "stan"])
def test_role_in_a_project_does_not_open_the_admin(heal: Heal, who: str) -> None:
    world.people()
    client = Client()
    client.force_login(User.objects.get(username=who))
    answer = client.get(reverse(LIST))
    assert answer.status_code == 302
    assert "login" in answer["Location"]


def test_visitor_is_asked_to_log_in(heal: Heal) -> None:
    assert Client().get(reverse(LIST)).status_code == 302
