"""Console log, screenshot and diagnostics: who sees what, in which form, and what a host may send."""

import pytest
from django.conf import settings as django_settings
from django.test import Client, override_settings

from computeagent.drivers.screen_png import png_of
from computeagent.protocol.guests import GuestCounters
from computeagent.protocol.work import WorkKind
from controlplane.infra.db import now_plus
from controlplane.kernel.errors import Fenced, Invalid
from controlplane.work.models import Work
from controlplane.work.reconcile import end_overdue
from servers.agent_api import conductor_connect
from servers.instances.services.delete import instance_delete
from servers.instances.services.screenshot import screenshots_prune
from servers.models import BlockDeviceMapping, ConsoleLog, Instance, Screenshot
from servers.networks.domain.names import PortOwner
from tests.worlds import cloud as world
from tests.worlds.routing import guest_port, inside

pytestmark = pytest.mark.django_db(transaction=True)
PNG = png_of([b"\x10\x20\x30" * 4] * 3)


@pytest.fixture
def who() -> world.People:
    return world.cloud()


@pytest.fixture
def instance(who: world.People) -> Instance:
    return world.active(who.member)


def address(instance: Instance, what: str) -> str:
    return f"/api/instances/{instance.pk}/{what}/"


def log_is(instance: Instance, text: str) -> None:
    ConsoleLog.objects.update_or_create(pk=instance.pk, defaults={"output": text})


@pytest.mark.parametrize(
    ("query", "output"),
    [
        ("", "one\ntwo ü\nthree"),
        ("?lines=1", "three"),
        ("?length=8", "ü\nthree"),
        ("?length=7", "\nthree"),
        ("?length=6", "\nthree"),
    ],
)
def test_console_log_gives_the_end_by_lines_or_bytes(
    query: str, output: str, who: world.People, instance: Instance
) -> None:
    log_is(instance, "one\ntwo ü\nthree")
    found = world.client_of(who.member).get(address(instance, "console-log") + query).json()
    assert found == {"output": output, "size": 16}


@pytest.mark.parametrize("query", ["?lines=0", "?lines=x", "?lines=10001", "?length=-1", "?length=٣"])
def test_wrong_numbers_are_refused_by_name(query: str, who: world.People, instance: Instance) -> None:
    answer = world.client_of(who.member).get(address(instance, "console-log") + query)
    assert answer.status_code == 400
    assert answer.json()["error"]["field"] == query[1:7].rstrip("=")


@pytest.mark.parametrize(
    ("asked", "status", "body", "told"),
    [
        ("", 200, b"0123456789", None),
        ("bytes=2-4", 206, b"234", "bytes 2-4/10"),
        ("bytes=7-", 206, b"789", "bytes 7-9/10"),
        ("bytes=-3", 206, b"789", "bytes 7-9/10"),
        ("bytes=5-99", 206, b"56789", "bytes 5-9/10"),
        ("bytes=10-", 416, b"", "bytes */10"),
        ("bytes=-0", 416, b"", "bytes */10"),
        ("bytes=4-2", 200, b"0123456789", None),
        ("bytes=0-1,3-4", 200, b"0123456789", None),
        ("lines=1-2", 200, b"0123456789", None),
    ],
)
def test_download_is_a_file_of_all_or_of_one_range(
    asked: str, status: int, body: bytes, told: str | None, who: world.People, instance: Instance
) -> None:
    log_is(instance, "0123456789")
    client = world.client_of(who.reader)
    answer = client.get(address(instance, "console-log/download"), headers={"Range": asked} if asked else {})
    assert (answer.status_code, answer.content, answer.get("Content-Range")) == (status, body, told)
    if status != 416:
        assert answer["Content-Disposition"] == f'attachment; filename="console-{instance.pk}.log"'
        assert answer["X-Content-Type-Options"] == "nosniff"


def test_screenshot_is_asked_for_once_sent_by_the_agent_and_seen_by_its_project(
    who: world.People, instance: Instance
) -> None:
    client, url = world.client_of(who.reader), address(instance, "screenshot")
    assert client.get(url).json() == {"state": "none", "taken_at": None, "error": ""}
    assert client.get(url + "image/").status_code == 404
    for _ in range(2):
        asked = client.post(url)
        assert (asked.status_code, asked.json()["state"]) == (202, "waiting")
    assert Work.objects.filter(kind=WorkKind.SCREENSHOT).count() == 1
    row = world.instance_of(instance.pk)
    assert (row.vm_state, row.task_state) == ("active", "")

    taken = world.order("h1", WorkKind.SCREENSHOT)
    conductor_connect().screenshot_done(lease=taken.lease, png=PNG)

    assert client.get(url).json()["state"] == "taken"
    image = client.get(url + "image/")
    assert (image.content, image["Content-Type"]) == (PNG, "image/png")
    assert "no-store" in image["Cache-Control"]
    stranger = world.client_of(who.stranger)
    assert [
        stranger.get(url).status_code,
        stranger.get(url + "image/").status_code,
        stranger.post(url).status_code,
    ] == [404] * 3
    with pytest.raises(Fenced):
        conductor_connect().screenshot_done(lease=taken.lease, png=PNG)


def test_screenshot_that_failed_says_more_to_admins(who: world.People, instance: Instance) -> None:
    url = address(instance, "screenshot")
    world.client_of(who.member).post(url)
    conductor_connect().screenshot_done(
        lease=world.order("h1", WorkKind.SCREENSHOT).lease, png=b"", error="h1: no monitor\0"
    )
    assert world.client_of(who.admin).get(url).json()["error"] == "h1: no monitor"
    told = world.client_of(who.member).get(url).json()
    assert (told["state"], told["error"]) == ("failed", "The host could not take it.")


@pytest.mark.parametrize("png", [b"", b"GIF89a", PNG + b"x" * 2**20])
def test_what_is_no_small_png_is_refused_of_a_host(png: bytes, who: world.People, instance: Instance) -> None:
    world.client_of(who.member).post(address(instance, "screenshot"))
    lease = world.order("h1", WorkKind.SCREENSHOT).lease
    with pytest.raises(Invalid):
        conductor_connect().screenshot_done(lease=lease, png=png)
    assert not Screenshot.objects.exists()


def test_screenshot_that_nobody_takes_is_given_up(who: world.People, instance: Instance) -> None:
    url = address(instance, "screenshot")
    world.client_of(who.member).post(url)
    Work.objects.filter(kind=WorkKind.SCREENSHOT).update(deadline_at=now_plus(-1))
    end_overdue()
    assert world.client_of(who.member).get(url).json()["state"] == "failed"
    assert world.instance_of(instance.pk).vm_state == "active"


def test_screenshot_expires_and_goes_with_its_instance(who: world.People, instance: Instance) -> None:
    client, url = world.client_of(who.member), address(instance, "screenshot")
    Screenshot.objects.create(pk=instance.pk, png=PNG, taken_at=now_plus(0))
    assert client.get(url).json()["state"] == "taken"
    Screenshot.objects.update(taken_at=now_plus(-601))
    assert client.get(url).json()["state"] == "none"
    with override_settings(KILONOVA={**django_settings.KILONOVA, "SCREENSHOT_RETENTION_S": 900.0}):
        assert screenshots_prune() == 0
    assert screenshots_prune() == 1
    Screenshot.objects.create(pk=instance.pk, png=PNG, taken_at=now_plus(0))
    instance_delete(caller=who.member, instance_id=instance.pk)
    conductor_connect().deleted(lease=world.order("h1", WorkKind.DELETE).lease)
    assert not Screenshot.objects.exists()


def test_guest_that_is_off_has_no_screen_and_nothing_to_diagnose(who: world.People, instance: Instance) -> None:
    Instance.objects.filter(pk=instance.pk).update(vm_state="stopped", power_state="shutdown")
    assert world.client_of(who.member).post(address(instance, "screenshot")).status_code == 409
    Instance.objects.filter(pk=instance.pk).update(vm_state="active")
    refused = world.client_of(who.member).post(address(instance, "screenshot"))
    assert "no screen" in refused.json()["error"]["message"]
    assert world.client_of(who.admin).get(address(instance, "diagnostics")).status_code == 409


def test_screenshot_of_a_locked_instance_is_taken_for_it_changes_nothing(who: world.People, instance: Instance) -> None:
    Instance.objects.filter(pk=instance.pk).update(locked=True, locked_as="admin", locked_by="root")
    assert world.client_of(who.member).post(address(instance, "screenshot")).status_code == 202


def test_diagnostics_have_novas_form_and_are_for_admins(who: world.People, instance: Instance) -> None:
    url = address(instance, "diagnostics")
    nothing = world.client_of(who.admin).get(url).json()
    assert (nothing["cpu_details"], nothing["memory_details"]["used"]) == ([], None)
    counters = GuestCounters(cpu_ns=5_000_000, memory_rss_kib=2048, disk_read_bytes=7, rx_bytes=77, tx_drops=3)
    conductor_connect().guest_counters(host="h1", counters={str(instance.pk): counters})
    found = world.client_of(who.admin).get(url).json()
    assert found["state"] == "running"
    assert found["cpu_details"] == [{"id": None, "time": 5_000_000, "utilisation": None}]
    assert found["disk_details"][0]["read_bytes"] == 7
    assert (found["nic_details"][0]["rx_octets"], found["nic_details"][0]["tx_drop"]) == (77, 3)
    assert found["memory_details"] == {"maximum": instance.memory_mib, "used": 2}
    assert found["num_cpus"] == instance.vcpus
    assert [world.client_of(one).get(url).status_code for one in (who.member, who.reader, who.stranger)] == [403] * 3
    browser = Client()
    browser.login(username="root", password=world.PASSWORD)
    page = browser.get(f"/instances/{instance.pk}/diagnostics/").content.decode()
    assert "77 B" in page
    assert "<dd>5 ms</dd>" in page


def test_diagnostics_tell_the_disc_the_cards_and_the_disks_that_the_guest_has(
    who: world.People, instance: Instance
) -> None:
    url = address(instance, "diagnostics")
    assert parts(who, url) == (True, 1, 1)  # one card, in its host's own default network
    Instance.objects.filter(pk=instance.pk).update(config_drive=False, has_default_network=False, swap_mib=64)
    assert parts(who, url) == (False, 0, 2)
    subnet = inside(who.member, "10.1.0.0/24", "blue")
    for _ in range(2):
        guest_port(who.member, subnet, instance_uuid=instance.pk, owner=PortOwner.INSTANCE)
    Instance.objects.filter(pk=instance.pk).update(has_block_devices=True)
    BlockDeviceMapping.objects.bulk_create(
        BlockDeviceMapping(instance_uuid=instance.pk, position=at, source_type="blank", destination_type="volume")
        for at in range(3)
    )
    assert parts(who, url) == (False, 2, 3)


def parts(who: world.People, url: str) -> tuple[bool, int, int]:
    shown = world.client_of(who.admin).get(url).json()
    return shown["config_drive"], shown["num_nics"], shown["num_disks"]


def test_page_asks_for_a_picture_and_shows_it(who: world.People, instance: Instance) -> None:
    browser, url = Client(), f"/instances/{instance.pk}/screenshot/"
    browser.login(username="rita", password=world.PASSWORD)
    assert "No picture yet" in browser.get(url).content.decode()
    assert "Its host is asked for a picture." in browser.post(url, follow=True).content.decode()
    conductor_connect().screenshot_done(lease=world.order("h1", WorkKind.SCREENSHOT).lease, png=PNG)
    assert 'class="screen"' in browser.get(url).content.decode()
    assert browser.get(url + "image/").content == PNG
