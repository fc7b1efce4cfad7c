"""How guests are configured, from the request to the agent that makes the config drive."""

import json
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from computeagent.protocol.guest_config import InjectedFile
from computeagent.protocol.work import WorkKind
from controlplane.identity.domain import Caller
from controlplane.kernel.errors import Forbidden, Invalid, InvalidFields, NotFound, QuotaExceeded
from controlplane.notifications.signature import SIGNATURE_HEADER, signature
from servers.agent_api import conductor_connect
from servers.instances.domain.instance_create import InstanceCreate
from servers.instances.services.create import instances_create
from servers.instances.services.delete import instance_delete
from servers.instances.services.update import instance_update
from servers.models import BuildRequest, FirstBootData, Image, Instance, RequestSpec, Subnet
from servers.networks.domain.names import PortOwner
from tests.worlds import cloud as world
from tests.worlds.networks import cloud_with_networks, network, port

pytestmark = pytest.mark.django_db(transaction=True)
FILES = [{"path": "/etc/motd", "contents": "aGVs\nbG8="}]
SECRET = "s3cret-passphrase"


def option(settings: Any, **changes: Any) -> None:
    settings.KILONOVA = {**settings.KILONOVA, **changes}


def create(caller: Caller, **more: Any) -> list[Instance]:
    return instances_create(
        caller=caller, wanted=InstanceCreate(**{"name": "vm", "flavor": "m1.tiny", "image": "demo", **more})
    )


def refused(caller: Caller, **more: Any) -> dict[str, list[str]]:
    errors = refused_beside(caller, **more)
    assert not BuildRequest.objects.exists()
    return errors


def refused_beside(caller: Caller, **more: Any) -> dict[str, list[str]]:
    with pytest.raises(InvalidFields) as caught:
        create(caller, **more)
    return caught.value.errors


def test_configuration_reaches_the_agent_as_it_was_asked_for(settings: Any) -> None:
    option(settings, DHCP_DOMAIN="lab.example")
    who = world.cloud()
    (instance,) = create(who.member, hostname="db", access_ip_v4="192.0.2.7", access_ip_v6="2001:DB8::1")
    world.pump()
    row = world.instance_of(instance.pk)
    assert (row.hostname, row.access_ip_v4, row.access_ip_v6) == ("db", "192.0.2.7", "2001:db8::1")
    guest = world.order("h1", WorkKind.BUILD).guest
    assert (guest.config.hostname, guest.config.flavor_name) == ("db.lab.example", "m1.tiny")
    assert guest.config.reservation_id == str(row.reservation_id)
    assert (guest.config.has_drive, guest.config.asks_first_boot) == (True, False)


def test_each_of_a_batch_has_its_name_host_name_and_launch_index() -> None:
    who = world.cloud("h1", "h2")
    made = create(who.member, min_count=3)
    assert [one.name for one in made] == ["vm-1", "vm-2", "vm-3"]
    assert [one.hostname for one in made] == ["vm-1", "vm-2", "vm-3"]
    assert [one.launch_index for one in made] == [0, 1, 2]
    assert len({one.reservation_id for one in made}) == 1


def test_guest_without_config_drive_has_none() -> None:
    who = world.cloud()
    (instance,) = create(who.member, config_drive=False)
    world.pump()
    assert not world.instance_of(instance.pk).config_drive
    assert not world.order("h1", WorkKind.BUILD).guest.config.has_drive


def test_config_drive_that_something_needs_is_not_left_out(settings: Any) -> None:
    who = world.cloud()
    assert "admin_pass" in refused(who.member, config_drive=False, admin_pass="x")["config_drive"][0]
    option(settings, FORCE_CONFIG_DRIVE=True)
    assert "FORCE_CONFIG_DRIVE" in refused(who.member, config_drive=False)["config_drive"][0]


def test_metadata_service_brings_key_and_user_data_to_a_guest_without_a_config_drive() -> None:
    who = cloud_with_networks("h1")
    of = network(project_id=who.member.project_id, is_default=True)
    told = {"config_drive": False, "user_data": "aGk="}
    assert not create(who.member, **told)[0].config_drive
    said = refused_beside(who.member, **told, admin_pass="x")["config_drive"][0]
    assert said == "Without a config drive nothing brings admin_pass to the guest."
    given = port(of, project_id=who.member.project_id, owner=PortOwner.NOBODY)
    assert not create(who.member, **told, networks=[{"port": str(given.pk)}])[0].config_drive
    Subnet.objects.update(has_dhcp=False)
    assert "user_data" in refused_beside(who.member, **told)["config_drive"][0]


def test_image_decides_over_config_drive_and_disk() -> None:
    who = world.cloud()
    world.image("strict", properties={"img_config_drive": "mandatory", "auto_disk_config": "disabled"})
    wanted = InstanceCreate(name="vm", flavor="m1.tiny", image="strict")
    with pytest.raises(InvalidFields) as caught:
        instances_create(caller=who.member, wanted=replace(wanted, config_drive=False, disk_config="AUTO"))
    assert set(caught.value.errors) == {"config_drive", "disk_config"}
    (made,) = instances_create(caller=who.member, wanted=wanted)
    assert (made.config_drive, made.disk_config) == (True, "MANUAL")


def test_password_and_files_are_encrypted_until_the_guest_runs() -> None:
    who = world.cloud()
    create(who.member, admin_pass=SECRET, personality=FILES, min_count=2)
    stored = json.dumps([*FirstBootData.objects.values_list("encrypted", flat=True)])
    stored += str([*BuildRequest.objects.values(), *RequestSpec.objects.values()])
    assert SECRET not in stored
    assert "aGVsbG8" not in stored
    world.pump()
    order, conductor = world.order("h1", WorkKind.BUILD), conductor_connect()
    assert order.guest.config.asks_first_boot
    assert SECRET not in repr(order)
    for _ in range(2):  # an agent that begins again asks again
        said = conductor.first_boot(lease=order.lease)
        assert (said.admin_password, said.files) == (SECRET, (InjectedFile("/etc/motd", "aGVsbG8="),))
    conductor.build_done(lease=order.lease, facts=world.RUNNING)
    assert FirstBootData.objects.count() == 1
    assert str(FirstBootData.objects.get().instance_uuid) != order.guest.uuid


@pytest.mark.parametrize("is_placed", [True, False])
def test_password_goes_with_an_instance_that_never_ran(*, is_placed: bool) -> None:
    who = world.cloud()
    (instance,) = create(who.member, admin_pass=SECRET)
    if is_placed:
        world.pump()
    instance_delete(caller=who.member, instance_id=instance.pk)
    if is_placed:
        order = world.order("h1", WorkKind.DELETE)
        conductor_connect().deleted(lease=order.lease)
    assert not FirstBootData.objects.exists()


def test_password_under_another_secret_key_is_refused_with_words(settings: Any) -> None:
    who = world.cloud()
    create(who.member, admin_pass=SECRET)
    world.pump()
    order = world.order("h1", WorkKind.BUILD)
    settings.SECRET_KEY = "another"
    with pytest.raises(Invalid, match="another SECRET_KEY"):
        conductor_connect().first_boot(lease=order.lease)


@pytest.mark.parametrize(
    ("files", "resource"),
    [
        ([{"path": f"/{number}", "contents": ""} for number in range(6)], "injected_files: 6 asked for, at most 5"),
        ([{"path": "/" + "x" * 255, "contents": ""}], "injected_file_path_bytes: 256 asked for, at most 255"),
        ([{"path": "/x", "contents": "eHh4" * 3414}], "injected_file_content_bytes: 10242 asked for, at most 10240"),
    ],
)
def test_files_over_quota_are_refused_with_numbers(files: list[dict[str, str]], resource: str) -> None:
    who = world.cloud()
    with pytest.raises(QuotaExceeded, match=resource):
        create(who.member, personality=files)
    assert not FirstBootData.objects.exists()


def test_requested_host_passes_the_filters_and_is_the_only_one() -> None:
    who = world.cloud("h1", "h2")
    (instance,) = create(who.admin, host="h2")
    world.pump()
    assert world.instance_of(instance.pk).host == "h2"
    (too_large,) = instances_create(
        caller=who.admin,
        wanted=InstanceCreate(
            name="big", flavor=world.flavor("big", memory_mib=16384).name, image="demo", hypervisor_hostname="h2"
        ),
    )
    world.pump()
    assert world.instance_of(too_large.pk).vm_state == "error"


def test_requested_host_is_for_admins_exists_and_is_not_forced_too() -> None:
    who = world.cloud()
    with pytest.raises(Forbidden, match="requested_destination"):
        create(who.member, host="h1")
    assert refused(who.admin, host="h9")["host"] == ["Compute host 'h9' could not be found."]
    assert "could not be found" in refused(who.admin, hypervisor_hostname="n9")["hypervisor_hostname"][0]
    with pytest.raises(Invalid, match="say one of the two"):
        create(who.admin, host="h1", availability_zone=":h1")


def test_access_addresses_are_changed_later() -> None:
    who = world.cloud()
    instance = world.active(who.member, access_ip_v4="192.0.2.1")
    changed = instance_update(
        caller=who.member, instance_id=instance.pk, changes={"access_ip_v4": "", "access_ip_v6": "2001:db8:0::2"}
    )
    assert (changed.access_ip_v4, changed.access_ip_v6) == ("", "2001:db8::2")
    with pytest.raises(InvalidFields, match="not an IPv6 address"):
        instance_update(caller=who.member, instance_id=instance.pk, changes={"access_ip_v6": "192.0.2.1"})


def test_host_name_is_changed_later_and_is_never_none() -> None:
    who = world.cloud()
    instance = world.active(who.member, hostname="db")
    change = {"changes": {"hostname": "db-2.example.org"}, "caller": who.member, "instance_id": instance.pk}
    assert instance_update(**change).hostname == "db-2.example.org"
    for wrong in ("", "-db", "db_", 7):
        with pytest.raises(InvalidFields) as refusal:
            instance_update(caller=who.member, instance_id=instance.pk, changes={"hostname": wrong})
        assert set(refusal.value.errors) == {"hostname"}


class Service(BaseHTTPRequestHandler):
    """A vendor data service that answers what the test says."""

    answer: bytes = b"{}"
    status = 200
    asked: list[tuple[dict[str, str], bytes]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        Service.asked.append((dict(self.headers), body))
        self.send_response(Service.status)
        self.end_headers()
        self.wfile.write(Service.answer)

    def log_message(self, *_: Any) -> None:
        """Says nothing."""


@pytest.fixture
def vendor_service(settings: Any) -> Iterator[type[Service]]:
    Service.answer, Service.status, Service.asked = b"{}", 200, []
    server = HTTPServer(("127.0.0.1", 0), Service)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    option(settings, VENDORDATA_DYNAMIC_TARGETS=f"inventory@http://127.0.0.1:{server.server_port}/guests")
    option(settings, VENDORDATA_SECRET="shared")
    yield Service
    server.shutdown()
    server.server_close()
    thread.join()


def said_to(who: world.People, **more: Any) -> Any:
    create(who.member, **more)
    world.pump()
    order = world.order("h1", WorkKind.BUILD)
    assert order.guest.config.asks_first_boot
    return conductor_connect().first_boot(lease=order.lease)


def test_vendor_data_comes_from_file_and_service(vendor_service: type[Service], settings: Any, tmp_path: Path) -> None:
    (tmp_path / "vendor.json").write_text('{"ntp": "time.example"}')
    option(settings, VENDORDATA_JSONFILE_PATH=str(tmp_path / "vendor.json"))
    vendor_service.answer = b'{"rack": 7}'
    said = said_to(world.cloud(), metadata={"role": "web"}, admin_pass=SECRET, hostname="db")
    assert json.loads(said.vendor_data) == {"ntp": "time.example"}
    assert json.loads(said.vendor_data2) == {"static": {"ntp": "time.example"}, "inventory": {"rack": 7}}
    ((headers, body),) = vendor_service.asked
    timestamp = int(headers[SIGNATURE_HEADER].removeprefix("t=").partition(",")[0])
    assert headers[SIGNATURE_HEADER] == signature(secret="shared", timestamp=timestamp, body=body)
    asked = json.loads(body)
    assert (asked["hostname"], asked["metadata"]) == ("db", {"role": "web"})
    assert set(asked) == {"project-id", "instance-id", "image-id", "user-data", "hostname", "metadata", "boot-roles"}
    assert SECRET not in body.decode()


@pytest.mark.parametrize(("answer", "status"), [(b"{", 200), (b"{}", 500), (b'"' + b"x" * 70_000 + b'"', 200)])
def test_service_that_does_not_answer_right_says_nothing(
    vendor_service: type[Service], answer: bytes, status: int
) -> None:
    vendor_service.answer, vendor_service.status = answer, status
    assert json.loads(said_to(world.cloud()).vendor_data2) == {"inventory": {}}


def test_service_that_must_answer_and_does_not_fails_the_build(vendor_service: type[Service], settings: Any) -> None:
    option(settings, VENDORDATA_DYNAMIC_FAILURE_FATAL=True)
    vendor_service.status = 503
    with pytest.raises(Invalid, match="inventory did not answer as it must: the receiver answered 503"):
        said_to(world.cloud())


def test_service_that_is_slow_is_left_at_the_deadline(settings: Any) -> None:
    server = HTTPServer(("127.0.0.1", 0), Service)  # nobody accepts
    option(settings, VENDORDATA_DYNAMIC_TARGETS=f"slow@http://127.0.0.1:{server.server_port}/")
    option(settings, VENDORDATA_DYNAMIC_TIMEOUT_S=0.2)
    try:
        assert json.loads(said_to(world.cloud()).vendor_data2) == {"slow": {}}
    finally:
        server.server_close()


@pytest.mark.parametrize("text", ["[1]", "{", None])
def test_vendor_data_file_that_cannot_be_read_is_empty(text: str | None, settings: Any, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "vendor.json").write_text(text)
    option(settings, VENDORDATA_JSONFILE_PATH=str(tmp_path / "vendor.json"))
    assert json.loads(said_to(world.cloud()).vendor_data) == {}


def test_disk_that_is_manual_is_told_by_vendor_data() -> None:
    said = said_to(world.cloud(), disk_config="MANUAL")
    assert "growpart: {mode: 'off'}" in json.loads(said.vendor_data)["cloud-init"][0]


def boots_by(**properties: str) -> None:
    """An image that boots by a kernel and a RAM disk of their own."""
    kernel = world.image("vmlinuz", disk_format="aki", checksum_sha256="1" * 64, size_bytes=11)
    ramdisk = world.image("initrd", disk_format="ari", checksum_sha256="2" * 64, size_bytes=22)
    named = {"kernel_id": str(kernel.pk), "ramdisk_id": str(ramdisk.pk), **properties}
    world.image("split", properties={key: value for key, value in named.items() if value})


def split(caller: Caller, **more: Any) -> list[Instance]:
    return instances_create(caller=caller, wanted=InstanceCreate(name="vm", flavor="m1.tiny", image="split", **more))


def test_guest_boots_by_the_kernel_that_its_image_names() -> None:
    who = world.cloud()
    boots_by(os_command_line="root=/dev/vda1 quiet")
    made = split(who.member, min_count=2)
    assert [one.image["kernel"]["size_bytes"] for one in made] == [11, 11]
    world.pump()
    order, conductor = world.order("h1", WorkKind.BUILD), conductor_connect()
    boots = order.guest.direct_boot
    assert boots is not None
    assert boots.ramdisk is not None
    assert (boots.kernel.image_checksum, boots.ramdisk.image_size_bytes) == ("1" * 64, 22)
    assert boots.arguments == "root=/dev/vda1 quiet"
    with pytest.raises(NotFound, match="without this image"):
        conductor.image_chunks(lease=order.lease, image_id=str(Image.objects.get(name="demo").pk))


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        ({"kernel_id": "00000000-0000-0000-0000-000000000009"}, "which does not exist"),
        ({"kernel_id": "/boot/vmlinuz"}, "is not the id of an image"),
        ({"kernel_id": ""}, "ramdisk_id of the image goes with a kernel_id"),
        ({"kernel_id": "", "ramdisk_id": "", "os_command_line": "x"}, "os_command_line of the image goes with"),
        ({"root_device_name": "/dev/vdb"}, "guests boot from vda, sda or hda"),
        ({"root_device_name": "sda", "hw_disk_bus": "virtio"}, "is no disk of hw_disk_bus=virtio"),
    ],
)
def test_what_an_image_cannot_boot_by_is_refused(properties: dict[str, str], reason: str) -> None:
    who = world.cloud()
    boots_by(**properties)
    with pytest.raises(InvalidFields) as caught:
        split(who.member)
    assert reason in " ".join(caught.value.errors["image"])


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"status": "queued"}, "must be active and aki"),
        ({"disk_format": "raw"}, "must be active and aki"),
        ({"visibility": "private"}, "which does not exist"),
    ],
)
def test_kernel_that_its_owner_does_not_let_one_use_is_refused(changes: dict[str, str], reason: str) -> None:
    who = world.cloud()
    boots_by()
    Image.objects.filter(name="vmlinuz").update(project_id=who.stranger.project_id, **changes)
    with pytest.raises(InvalidFields) as caught:
        split(who.member)
    assert reason in caught.value.errors["image"][0]


def test_kernel_is_no_disk_to_boot_from_and_nokernel_is_none() -> None:
    who = world.cloud()
    boots_by(kernel_id="nokernel")
    assert "is no disk" in refused(who.member, image="vmlinuz")["image"][0]
    (made,) = split(who.member)
    assert "kernel" not in made.image
