"""The password that a guest told: who reads it and who clears it."""

import pytest

from servers.instances.services.guest_password import guest_password_store
from servers.models import GuestPassword, Instance
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def who() -> world.People:
    return world.cloud()


@pytest.fixture
def address(who: world.People) -> str:
    instance: Instance = world.active(who.member)
    guest_password_store(host=instance.host, instance_uuid=str(instance.pk), password="bm8=")
    return f"/api/instances/{instance.pk}/guest-password/"


def test_project_reads_it_and_it_is_in_no_cache(who: world.People, address: str) -> None:
    for caller in (who.admin, who.member, who.reader):
        answer = world.client_of(caller).get(address)
        assert (answer.status_code, answer.json()) == (200, {"password": "bm8="})
        assert answer["Cache-Control"] == "private, no-store"
    assert world.client_of(who.stranger).get(address).status_code == 404


def test_members_clear_it_and_the_next_one_may_be_told(who: world.People, address: str) -> None:
    assert world.client_of(who.stranger).delete(address).status_code == 404
    assert world.client_of(who.reader).delete(address).status_code == 403
    assert GuestPassword.objects.count() == 1
    for _ in range(2):
        assert world.client_of(who.member).delete(address).status_code == 204
    assert world.client_of(who.member).get(address).json() == {"password": ""}
