"""`/healthz` and `/readyz`: what is fine, what is not, and why, without a log-in and without a secret."""

import re
import uuid
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.test.utils import override_settings

from controlplane.identity.models import User
from controlplane.infra.db import now_plus
from controlplane.work.models import NamedLease, Work
from servers.models import Image
from tests.fixtures.servers import free_port
from tests.worlds.cloud import People, cloud, create

CHECKS = ["database", "migrations", "disk", "conductor", "reconciler", "queue_age"]
CHECKS += ["flavors", "images", "image_store", "hosts"]
# Work is done here in the way of a process of its own, which closes its connection.
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def people() -> People:
    """The small cloud with two hosts."""
    return cloud("h1", "h2")


@pytest.fixture
def alive(people: People) -> None:
    """A conductor that answers and a reconciler that leads."""
    for name in ("reconcile", "conductor-canary"):
        NamedLease.objects.create(name=name, owner="a:1", until=now_plus(60))


def ready(client: Client | None = None) -> tuple[int, dict[str, Any]]:
    answer = (client or Client()).get("/readyz")
    return answer.status_code, answer.json()


def states(body: dict[str, Any]) -> dict[str, str]:
    return {check["name"]: check["state"] for check in body["checks"]}


def test_process_that_answers_is_alive() -> None:
    answer = Client().get("/healthz")
    assert (answer.status_code, answer.json()) == (200, {"status": "alive"})


@pytest.mark.usefixtures("alive")
def test_installation_with_everything_is_ready() -> None:
    status, body = ready()
    assert (status, body["ready"], body["reasons"]) == (200, True, [])
    assert states(body) == dict.fromkeys(CHECKS, "ok")


@pytest.mark.usefixtures("alive")
def test_every_role_is_told_the_same(people: People) -> None:
    for caller in (people.admin, people.member, people.reader, people.stranger):
        client = Client()
        client.force_login(User.objects.get(pk=caller.user_id))
        assert ready(client) == ready()


@pytest.mark.usefixtures("people")
def test_nobody_who_works_is_told_by_two_checks() -> None:
    status, body = ready()
    assert status == 503
    assert body["reasons"] == ["no conductor answers", "no reconciler has been seen lately"]
    assert {name for name, state in states(body).items() if state == "failed"} == {"conductor", "reconciler"}


@pytest.mark.usefixtures("alive")
@pytest.mark.parametrize(("seconds", "state"), [(-20, "ok"), (-40, "failed")])
def test_reconciler_may_be_late_but_not_gone(seconds: float, state: str) -> None:
    NamedLease.objects.filter(name="reconcile").update(until=now_plus(seconds))
    assert states(ready()[1])["reconciler"] == state


@pytest.mark.usefixtures("alive")
def test_how_late_the_reconciler_may_be_is_a_setting() -> None:
    NamedLease.objects.filter(name="reconcile").update(until=now_plus(-40))
    with override_settings(KILONOVA={**settings.KILONOVA, "READY_RECONCILER_SILENCE_S": 60.0}):
        assert states(ready()[1])["reconciler"] == "ok"


@pytest.mark.usefixtures("alive")
def test_work_that_nobody_takes_makes_it_not_ready(people: People) -> None:
    create(people.member)
    assert ready()[0] == 200
    Work.objects.update(created_at=now_plus(-400))
    status, body = ready()
    assert status == 503
    assert re.match(r"work of the conductor has waited for 40\d s", body["reasons"][0])
    assert body["reasons"][0].endswith("the limit is 300 s")


@pytest.mark.usefixtures("alive")
def test_work_that_waits_for_a_silent_host_is_no_reason(people: People) -> None:
    create(people.member)
    Work.objects.update(created_at=now_plus(-400), queue="compute.h1")
    assert ready()[0] == 200


@pytest.mark.usefixtures("alive")
def test_missing_image_is_told() -> None:
    Image.objects.all().delete()
    status, body = ready()
    assert (status, body["reasons"]) == (503, ["there is no active image"])


def kilonova(**values: Any) -> Any:
    return override_settings(KILONOVA={**settings.KILONOVA, **values})


@pytest.mark.usefixtures("alive")
def test_full_disk_is_named_by_what_lies_on_it(tmp_path: Path) -> None:
    with kilonova(READY_DISK_FREE_MIB=2**40, IMAGE_DIR=tmp_path), override_settings(STATE_DIR=tmp_path):
        status, body = ready()
    assert status == 503
    assert {name for name, state in states(body).items() if state == "failed"} == {"disk", "image_store"}
    pattern = r"the disk of (.*) is full: \d+ MiB are free, below 1099511627776 MiB"
    assert [re.fullmatch(pattern, reason)[1] for reason in body["reasons"]] == [
        "the state directory",
        "the image store",
    ]  # type: ignore[index]
    assert str(tmp_path) not in str(body)


@pytest.mark.usefixtures("alive")
def test_image_store_that_lost_what_was_uploaded_is_told(tmp_path: Path) -> None:
    with kilonova(IMAGE_DIR=tmp_path):
        image = Image.objects.create(name="uploaded", status="active", visibility="public", upload_id=uuid.uuid4())
        assert states(ready()[1])["image_store"] == "failed"
        (tmp_path / f"{image.pk}.{image.upload_id}").write_bytes(b"whole")
    with kilonova(IMAGE_DIR=tmp_path / "." / "nowhere"):
        status, body = ready()
        assert (status, body["reasons"]) == (503, ["the image store lacks the bytes of an active image"])
    with kilonova(IMAGE_DIR=tmp_path, READY_DISK_FREE_MIB=0):
        assert ready()[0] == 200


@pytest.mark.usefixtures("alive")
def test_image_store_that_cannot_be_read_is_told_without_its_place(tmp_path: Path) -> None:
    Image.objects.create(name="uploaded", status="active", visibility="public", upload_id=uuid.uuid4())
    no_directory = tmp_path / "file"
    no_directory.write_bytes(b"")
    with kilonova(IMAGE_DIR=no_directory):
        status, body = ready()
    assert (status, body["reasons"]) == (503, ["the image store cannot be read: Not a directory"])


@pytest.mark.usefixtures("alive")
def test_object_store_that_is_away_is_told_without_address_and_key() -> None:
    Image.objects.create(name="uploaded", status="active", visibility="public", upload_id=uuid.uuid4())
    keys = {"IMAGE_S3_ACCESS_KEY_ID": "hush", "IMAGE_S3_SECRET_ACCESS_KEY": "hush-hush"}
    place = {"IMAGE_S3_ENDPOINT": f"http://127.0.0.1:{free_port()}", "IMAGE_S3_BUCKET": "images", **keys}
    with kilonova(IMAGE_STORE="s3", **place):
        status, body = ready()
    assert (status, body["reasons"]) == (503, ["the image store does not answer"])
    assert "hush" not in str(body)
    with kilonova(IMAGE_STORE="s3", **{**place, "IMAGE_S3_BUCKET": ""}):
        assert "IMAGE_S3_BUCKET is not set." in ready()[1]["reasons"][0]


@pytest.mark.usefixtures("alive")
def test_redis_that_does_not_answer_is_told_without_its_address() -> None:
    with override_settings(REDIS_URL="redis://:hush@127.0.0.1:1/0"):
        answer = Client().get("/readyz")
    assert answer.status_code == 503
    assert states(answer.json())["redis"] == "failed"
    assert answer.json()["reasons"] == ["Redis does not answer: ConnectionError"]
    assert b"hush" not in answer.content
    assert b"127.0.0.1" not in answer.content
