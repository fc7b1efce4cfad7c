"""Attachments of volumes in the Django admin: detached as from anywhere else, refusals shown."""

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from computeagent.protocol.work import WorkKind
from controlplane.identity.models import User
from servers.models import BlockDeviceMapping, VolumeAttachment
from tests.services.servers.attachments.attached_cloud import Cloud
from tests.worlds.admin_actions import ask, ask_and_confirm

pytestmark = pytest.mark.django_db(transaction=True)
AT = "/admin/servers/volumeattachment/"


@pytest.fixture
def cloud(tmp_path: Path, settings: Any) -> Cloud:
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_DIR": tmp_path / "images"}
    cloud = Cloud(tmp_path)
    cloud.attached()
    return cloud


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def client(cloud: Cloud) -> Client:
    return client_of(User.objects.create_superuser(username="super", password="x"))


def keys() -> list[str]:
    return [str(pk) for pk in VolumeAttachment.objects.values_list("pk", flat=True)]


def test_a_volume_is_detached_after_a_question(cloud: Cloud, client: Client) -> None:
    asked = ask(client, AT, "detach", keys())
    assert "Unmount them inside first" in asked.content.decode()
    assert cloud.states() == ("in-use", "attached", "")
    assert "1 accepted." in ask_and_confirm(client, AT, "detach", keys()).content.decode()
    assert cloud.states()[:2] == ("detaching", "detaching")
    cloud.h1.do(WorkKind.DETACH_VOLUME)
    assert cloud.states() == ("available", "", "")
    assert cloud.guest_has() == []


def test_what_the_service_refuses_is_shown(cloud: Cloud, client: Client) -> None:
    BlockDeviceMapping.objects.update(boot_index=0)
    page = ask_and_confirm(client, AT, "detach", keys()).content.decode()
    assert "The instance boots from this volume, which leaves it only with the instance." in page
    assert cloud.states() == ("in-use", "attached", "")


def test_who_may_only_see_them_is_offered_nothing(cloud: Cloud) -> None:
    user = User.objects.create_user(username="viewer", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="view_volumeattachment"))
    viewer = client_of(user)
    assert viewer.get(AT).status_code == 200
    ask(viewer, AT, "detach", keys())
    assert cloud.states() == ("in-use", "attached", "")
