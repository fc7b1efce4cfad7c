"""Rebuild, rescue and a new password: what is asked for, refused, told to the agent, and what is left of it."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models.functions import Now

from computeagent.protocol.hosts import GuestMachines
from computeagent.protocol.power import PowerState
from computeagent.protocol.steps import FailureClass
from computeagent.protocol.work import WorkKind
from controlplane.kernel.errors import (
    Conflict,
    Fenced,
    Forbidden,
    InvalidFields,
    KilonovaError,
    NotFound,
    QuotaExceeded,
)
from controlplane.work.models import Work
from placement.models import Allocation
from scheduling.models import SchedulingDecision
from servers.agent_api import conductor_connect
from servers.agent_api.guest_spec import guest_spec
from servers.images.selectors import image_snapshot
from servers.instances.domain.rebuild_rules import InstanceRebuild
from servers.instances.services.act import instance_act
from servers.instances.services.delete import instance_delete
from servers.instances.services.rescue import instance_rebuild, instance_rescue
from servers.instances.services.rescue_timeout import rescues_end
from servers.instances.services.work_secrets import work_secrets_sweep
from servers.models import (
    FirstBootData,
    HostNetworkState,
    Image,
    Instance,
    InstanceAction,
    InstanceFault,
    RequestSpec,
    WorkSecret,
)
from tests.worlds import cloud as world
from tests.worlds.networks import network, port

pytestmark = pytest.mark.django_db(transaction=True)
SECRET = "correct horse, secret staple"


def rebuild(who: world.People, instance: Instance, **wanted: Any) -> Instance:
    return instance_rebuild(caller=who.member, instance_id=instance.pk, wanted=InstanceRebuild(**wanted))


def rescue(who: world.People, instance: Instance, image: str = "") -> Instance:
    return instance_rescue(caller=who.member, instance_id=instance.pk, image=image)


def state(instance: Instance) -> tuple[str, str]:
    row = world.instance_of(instance.pk)
    return row.vm_state, row.task_state


def in_state(who: world.People, vm_state: str, **more: Any) -> Instance:
    instance = world.active(who.member)
    Instance.objects.filter(pk=instance.pk).update(vm_state=vm_state, **more)
    return world.instance_of(instance.pk)


def faults(instance: Instance) -> list[str]:
    return list(InstanceFault.objects.filter(instance_uuid=instance.pk).values_list("message", flat=True))


@pytest.mark.parametrize(
    ("before", "facts", "after"),
    [("active", world.RUNNING, "active"), ("error", world.RUNNING, "active"), ("stopped", world.OFF, "stopped")],
)
def test_rebuild_changes_image_and_details_and_keeps_claims(before: str, facts: Any, after: str) -> None:
    who = world.cloud()
    other = world.image("other", checksum_sha256="1" * 64)
    instance = in_state(who, before)
    claimed = Allocation.objects.filter(consumer__uuid=instance.pk).count()

    rebuild(who, instance, image="other", name="new name", metadata={"a": "b"}, user_data="aGk=", description="")

    assert state(instance) == (before, "rebuilding")
    order = world.order("h1", WorkKind.REBUILD)
    assert order.power_state_wanted is facts.power_state
    assert (order.guest.image_id, order.guest.image_checksum) == (str(other.pk), "1" * 64)
    assert (order.guest.name, order.guest.metadata, order.guest.user_data_base64) == ("new name", {"a": "b"}, "aGk=")
    conductor = conductor_connect()
    for step, task in (
        ("rebuilding", "rebuilding"),
        ("rebuild_block_device_mapping", "rebuild_block_device_mapping"),
        ("rebuild_spawning", "rebuild_spawning"),
    ):
        conductor.record_steps(lease=order.lease, begins=step)
        assert state(instance) == (before, task)
    conductor.action_done(lease=order.lease, facts=facts)
    row = world.instance_of(instance.pk)
    assert (row.vm_state, row.task_state, row.power_state) == (after, "", facts.power_state)
    assert row.image == image_snapshot(other)
    assert RequestSpec.objects.get(instance_uuid=row.pk).typed_body.image.id == str(other.pk)
    assert Allocation.objects.filter(consumer__uuid=instance.pk).count() == claimed > 0


def test_rebuild_from_its_own_image_asks_no_scheduler_and_another_one_has_a_decision() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    decisions = SchedulingDecision.objects.count()
    rebuild(who, instance)
    assert SchedulingDecision.objects.count() == decisions
    conductor_connect().action_done(lease=world.order("h1").lease, facts=world.RUNNING)

    world.image("other")
    rebuild(who, instance, image="other")

    decision = SchedulingDecision.objects.order_by("-created_at").first()
    assert decision is not None
    assert (decision.subject, decision.outcome) == (instance.pk, "selected")


def test_image_that_the_host_is_not_for_is_refused_with_the_decision_and_nothing_changes() -> None:
    who = world.cloud()
    world.image("arm", properties={"hw_architecture": "aarch64"})
    instance = world.active(who.member)

    with pytest.raises(Conflict, match="not for this image") as refused:
        rebuild(who, instance, image="arm", name="new name")

    decision = SchedulingDecision.objects.get(pk=refused.value.extra["decision_id"])
    assert decision.outcome == "no_valid_host"
    row = world.instance_of(instance.pk)
    assert (row.name, row.image["name"], row.task_state) == ("vm", "demo", "")
    assert not Work.objects.filter(kind="rebuild").exists()


@pytest.mark.parametrize(
    ("image", "reason"),
    [
        ({"properties": {"hw_numa_nodes": "1"}}, "gives the guest a NUMA topology"),
        ({"properties": {"trait:HW_CPU_X86_AVX2": "required"}}, "HW_CPU_X86_AVX2"),
        ({"min_ram_mib": 4096}, "4096 MiB"),
        ({"virtual_size_bytes": 2**40}, "1024.0 GiB"),
        ({"properties": {"hw_rescue_device": "floppy"}}, "disk, cdrom"),
    ],
)
def test_image_that_does_not_fit_the_instance_is_refused(image: dict[str, Any], reason: str) -> None:
    who = world.cloud()
    world.image("other", **image)
    instance = world.active(who.member)
    with pytest.raises(InvalidFields) as refused:
        rebuild(who, instance, image="other")
    assert reason in str(refused.value.errors["image"])
    assert state(instance) == ("active", "")


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        ({"name": " "}, "name"),
        ({"metadata": {"a": 1}}, "metadata"),
        ({"user_data": "no base64!"}, "user_data"),
        ({"key_name": "nobody's"}, "key_name"),
        ({"preserve_ephemeral": True}, "preserve_ephemeral"),
        ({"hostname": "-x"}, "hostname"),
        ({"access_ip_v4": "10.0.0"}, "access_ip_v4"),
        ({"personality": [{"path": "/a"}]}, "personality"),
        ({"trusted_image_certificates": ["x", "x"]}, "trusted_image_certificates"),
    ],
)
def test_words_of_a_rebuild_are_judged_by_field(wanted: dict[str, Any], field: str) -> None:
    who = world.cloud()
    instance = world.active(who.member)
    with pytest.raises(InvalidFields) as refused:
        rebuild(who, instance, **wanted)
    assert field in refused.value.errors
    assert not Work.objects.filter(kind="rebuild").exists()


def test_rebuild_tells_files_host_name_addresses_and_disk() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    files = [{"path": "/etc/motd", "contents": "aGk="}]
    rebuild(
        who, instance, personality=files, hostname="db1.example.org", access_ip_v6="2001:DB8:0::1", disk_config="MANUAL"
    )
    order = world.order("h1", WorkKind.REBUILD)
    assert (order.guest.config.hostname, order.guest.config.asks_first_boot) == ("db1.example.org", True)
    assert [one.path for one in conductor_connect().first_boot(lease=order.lease).files] == ["/etc/motd"]
    conductor_connect().action_done(lease=order.lease, facts=world.RUNNING)
    row = world.instance_of(instance.pk)
    assert (row.hostname, row.access_ip_v6, row.disk_config) == ("db1.example.org", "2001:db8::1", "MANUAL")
    assert not FirstBootData.objects.exists()


def test_rebuild_obeys_the_limits_of_files_and_what_the_image_says_of_its_disk() -> None:
    who = world.cloud()
    world.image("fixed", properties={"hw_auto_disk_config": "disabled"})
    instance = world.active(who.member)
    with pytest.raises(QuotaExceeded, match="injected_file_content_bytes"):
        rebuild(who, instance, personality=[{"path": "/a", "contents": "QUFB" * 4096}])
    with pytest.raises(InvalidFields) as refused:
        rebuild(who, instance, image="fixed", disk_config="AUTO")
    assert set(refused.value.errors) == {"disk_config"}
    assert state(instance) == ("active", "")
    rebuild(who, instance, image="fixed")
    assert world.instance_of(instance.pk).disk_config == "MANUAL"


def test_rebuilt_guest_reads_its_new_metadata() -> None:
    """Its host is told that what it answers is another now, in the transaction of the rebuild."""
    who = world.cloud()
    instance = world.active(who.member)
    port(network(), instance.host, instance_uuid=instance.pk, project_id=instance.project_id)
    HostNetworkState.objects.all().delete()
    rebuild(who, instance, metadata={"a": "b"})
    assert HostNetworkState.objects.get(host=instance.host).wanted_revision == 1


def test_failed_rebuild_is_an_error_that_a_second_rebuild_mends() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    for _ in range(2):
        rebuild(who, instance)
        order = world.order("h1", WorkKind.REBUILD)
        conductor_connect().record_steps(lease=order.lease, begins="rebuild_spawning")
        conductor_connect().action_failed(lease=order.lease, step="rebuild_spawning", message="no room on h1")
        assert state(instance) == ("error", "")
    assert faults(instance) == ["The host could not do it (rebuild, step rebuild_spawning)."] * 2
    rebuild(who, instance)
    conductor_connect().action_done(lease=world.order("h1").lease, facts=world.RUNNING)
    assert state(instance) == ("active", "")


def test_rebuild_obeys_lock_protection_and_states() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    instance_act(caller=who.admin, instance_id=instance.pk, action="protect")
    with pytest.raises(Conflict, match="protected"):
        rebuild(who, instance)
    instance_act(caller=who.member, instance_id=instance.pk, action="unprotect")
    instance_act(caller=who.member, instance_id=instance.pk, action="lock")
    for verb in (rebuild, rescue):
        with pytest.raises(Conflict, match="locked by"):
            verb(who, instance)
    instance_act(caller=who.member, instance_id=instance.pk, action="unlock")
    Instance.objects.filter(pk=instance.pk).update(vm_state="paused")
    for verb in (rebuild, rescue):
        with pytest.raises(Conflict, match="is paused"):
            verb(who, instance)


def test_readers_and_strangers_may_neither_rebuild_nor_rescue() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    for caller, error in ((who.reader, Forbidden), (who.stranger, NotFound)):
        with pytest.raises(error):
            instance_rebuild(caller=caller, instance_id=instance.pk, wanted=InstanceRebuild())
        with pytest.raises(error):
            instance_rescue(caller=caller, instance_id=instance.pk)
    instance_rescue(caller=who.admin, instance_id=instance.pk)
    assert state(instance) == ("active", "rescuing")


def test_rescue_boots_from_the_image_until_it_is_ended() -> None:
    who = world.cloud()
    tools = world.image("tools", checksum_sha256="2" * 64, properties={"hw_rescue_bus": "virtio"})
    instance = world.active(who.member)
    rescue(who, instance, "tools")
    order = world.order("h1", WorkKind.RESCUE)
    assert order.guest.rescue is not None
    assert (order.guest.rescue.id, order.guest.rescue.checksum) == (str(tools.pk), "2" * 64)
    assert order.guest.rescue.properties == {"hw_rescue_bus": "virtio"}
    assert order.guest.image_checksum == "0" * 64
    conductor_connect().action_done(lease=order.lease, facts=world.RUNNING)
    assert state(instance) == ("rescued", "")

    instance_act(caller=who.member, instance_id=instance.pk, action="reboot")
    order = world.order("h1", WorkKind.REBOOT)
    assert order.guest.rescue is not None
    conductor_connect().action_done(lease=order.lease, facts=world.RUNNING)
    assert state(instance) == ("rescued", "")
    (seen,) = conductor_connect().instances_on_host(host="h1")
    assert seen.guest.rescue is not None

    instance_act(caller=who.member, instance_id=instance.pk, action="unrescue")
    conductor_connect().action_done(lease=world.order("h1", WorkKind.UNRESCUE).lease, facts=world.RUNNING)
    row = world.instance_of(instance.pk)
    assert (row.vm_state, row.rescue_image) == ("active", {})
    assert guest_spec(row, [], None).rescue is None


def test_agent_reads_the_rescue_image_for_a_rescue_and_its_own_one_for_a_rebuild() -> None:
    who = world.cloud()
    tools, own = world.image("tools"), Image.objects.get(name="demo")
    instance = world.active(who.member)
    conductor = conductor_connect()
    rescue(who, instance, "tools")
    lease = world.order("h1", WorkKind.RESCUE).lease
    assert conductor._image_of(lease, "") == tools.pk
    conductor.action_failed(lease=lease, step="rescuing", message="no")
    rebuild(who, instance)
    assert conductor._image_of(world.order("h1", WorkKind.REBUILD).lease, "") == own.pk


def test_failed_rescue_is_an_error_whose_next_boot_is_from_its_own_disks() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    rescue(who, instance)
    lease = world.order("h1", WorkKind.RESCUE).lease
    conductor_connect().action_failed(
        lease=lease, step="rescue_image", message="the image is encrypted", failure_class=FailureClass.USER
    )
    assert state(instance) == ("error", "")
    assert faults(instance) == ["It could not be done: the image is encrypted."]
    instance_act(caller=who.member, instance_id=instance.pk, action="reboot")
    assert world.order("h1", WorkKind.REBOOT).guest.rescue is None


def rescued_for(instance: Instance, seconds: float) -> None:
    Instance.objects.filter(pk=instance.pk).update(rescued_at=Now() - timedelta(seconds=seconds))


def test_rescue_that_lasts_too_long_is_ended_where_the_installation_says_so(settings: Any) -> None:
    who = world.cloud()
    instance = world.active(who.member)
    rescue(who, instance)
    conductor_connect().action_done(lease=world.order("h1", WorkKind.RESCUE).lease, facts=world.RUNNING)
    assert world.instance_of(instance.pk).rescued_at is not None
    instance_act(caller=who.admin, instance_id=instance.pk, action="lock")
    rescued_for(instance, 100)
    assert rescues_end() == 0

    settings.KILONOVA = {**settings.KILONOVA, "RESCUE_TIMEOUT_S": 60}
    assert rescues_end() == 1
    assert rescues_end() == 0
    assert state(instance) == ("rescued", "unrescuing")
    action = InstanceAction.objects.get(instance_uuid=instance.pk, action="unrescue")
    assert action.user_id is None
    conductor_connect().action_failed(lease=world.order("h1").lease, step="unrescuing", message="no")
    assert rescues_end() == 0
    rescued_for(instance, 59)
    shown = world.client_of(who.member).get(f"/api/instances/{instance.pk}/").json()
    row = world.instance_of(instance.pk)
    assert row.rescued_at is not None
    assert shown["rescued_until"] == (row.rescued_at + timedelta(seconds=60)).isoformat().replace("+00:00", "Z")
    rescued_for(instance, 61)
    assert rescues_end() == 1
    conductor_connect().action_done(lease=world.order("h1", WorkKind.UNRESCUE).lease, facts=world.RUNNING)
    row = world.instance_of(instance.pk)
    assert (row.vm_state, row.rescued_at) == ("active", None)


def test_failed_end_of_a_rescue_leaves_it_rescued() -> None:
    who = world.cloud()
    image = image_snapshot(Image.objects.get(name="demo"))
    instance = in_state(who, "rescued", rescue_image=image)
    instance_act(caller=who.member, instance_id=instance.pk, action="unrescue")
    conductor_connect().action_failed(lease=world.order("h1").lease, step="unrescuing", message="no")
    assert state(instance) == ("rescued", "")


@pytest.mark.parametrize(
    ("image", "reason"),
    [
        ({"properties": {"hw_rescue_device": "floppy"}}, "disk, cdrom"),
        ({"properties": {"hw_rescue_bus": "fdc"}}, "virtio"),
        ({"min_ram_mib": 4096}, "4096 MiB"),
    ],
)
def test_image_that_cannot_rescue_is_refused(image: dict[str, Any], reason: str) -> None:
    who = world.cloud()
    world.image("tools", **image)
    instance = world.active(who.member)
    with pytest.raises(InvalidFields) as refused:
        rescue(who, instance, "tools")
    assert reason in str(refused.value.errors["image"])
    assert state(instance) == ("active", "")


Q35 = GuestMachines(("q35",), ("sata", "virtio", "usb"), ("vga",))
PC = GuestMachines(("pc",), ("ide", "sata", "virtio"), ("vga",))


@pytest.mark.parametrize("machines", [(), (PC, Q35)])
@pytest.mark.parametrize(
    ("own", "asked", "named"),
    [
        ({"hw_machine_type": "q35"}, {"hw_rescue_bus": "IDE"}, ["hw_rescue_bus=ide", "hw_machine_type=q35"]),
        (
            {"hw_machine_type": "q35"},
            {"hw_rescue_device": "cdrom", "hw_rescue_bus": "virtio"},
            ["hw_rescue_bus=virtio", "hw_rescue_device=cdrom", "ide, sata, scsi, usb"],
        ),
        (
            {"hw_machine_type": "q35", "hw_usb_model": "none"},
            {"hw_rescue_bus": "usb"},
            ["hw_rescue_bus=usb", "hw_usb_model=none"],
        ),
    ],
)
def test_bus_of_the_rescue_disk_that_the_machine_does_not_have_is_refused_with_the_keys_and_no_host_is_asked(
    own: dict[str, str], asked: dict[str, str], named: list[str], machines: tuple[GuestMachines, ...]
) -> None:
    who = world.cloud("h1")
    world.host("h1", machines=machines)
    world.image("tools", properties=asked)
    instance = world.active(who.member)
    Instance.objects.filter(pk=instance.pk).update(image=instance.image | {"properties": own})
    answer = world.client_of(who.member).post(f"/api/instances/{instance.pk}/rescue/", {"image": "tools"})
    said = answer.content.decode()
    assert (answer.status_code, [word for word in named if word not in said]) == (400, []), said
    assert state(instance) == ("active", "")
    assert not Work.objects.filter(kind="rescue").exists()


def test_rescue_is_judged_by_what_the_host_of_the_instance_reports() -> None:
    who = world.cloud("h1", "h2")
    world.host("h1", machines=(GuestMachines(("pc",), ("virtio",), ("vga",)),))
    world.host("h2", machines=(PC,))
    world.image("tools", properties={"hw_rescue_bus": "sata"})
    instance = world.active(who.member)
    for host, refused in (("h1", True), ("h2", False)):
        Instance.objects.filter(pk=instance.pk).update(host=host)
        answer = world.client_of(who.member).post(f"/api/instances/{instance.pk}/rescue/", {"image": "tools"})
        assert (answer.status_code == 400, "it has virtio" in answer.content.decode()) == (refused, refused)


def test_own_image_with_a_kernel_takes_the_first_place_whatever_bus_it_names() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    kernel = {"kernel_id": str(world.image("kernel").pk), "ramdisk_id": str(world.image("ramdisk").pk)}
    Image.objects.filter(name="demo").update(properties={"hw_machine_type": "q35", "hw_rescue_bus": "ide"} | kernel)
    image = Image.objects.get(name="demo")
    Instance.objects.filter(pk=instance.pk).update(image=image_snapshot(image))
    assert image_snapshot(image)["kernel"]
    rescue(who, instance)
    assert state(instance) == ("active", "rescuing")


def test_only_images_that_the_project_sees_rescue_and_rebuild() -> None:
    who = world.cloud()
    world.image("secret", visibility="private", project_id=who.stranger.project_id)
    instance = world.active(who.member)
    with pytest.raises(KilonovaError, match="does not exist"):
        rescue(who, instance, "secret")
    with pytest.raises(KilonovaError, match="does not exist"):
        rebuild(who, instance, image="secret")
    Image.objects.filter(name="demo").update(status="deactivated")
    for verb in (rescue, rebuild):
        with pytest.raises(Conflict, match="is deactivated; name another one"):
            verb(who, instance)


def with_agent(who: world.People) -> Instance:
    instance = world.active(who.member)
    image = instance.image | {"properties": {"hw_qemu_guest_agent": "yes"}}
    Instance.objects.filter(pk=instance.pk).update(image=image)
    return world.instance_of(instance.pk)


def change_password(who: world.People, instance: Instance, password: str = SECRET) -> None:
    instance_act(caller=who.member, instance_id=instance.pk, action="change_password", arguments={"password": password})


def everything_stored() -> str:
    """The text of all rows of all tables."""
    found = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names():
            cursor.execute(f'SELECT * FROM "{table}"')  # noqa: S608 - names of our own tables
            found.append(str(cursor.fetchall()))
    return "".join(found)


def test_password_reaches_the_agent_and_is_stored_nowhere_in_clear(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    who = world.cloud()
    instance = with_agent(who)
    change_password(who, instance)
    assert state(instance) == ("active", "updating_password")
    assert WorkSecret.objects.filter(instance_uuid=instance.pk).count() == 1
    assert SECRET not in everything_stored()
    order = world.order("h1", WorkKind.CHANGE_PASSWORD)
    assert order.arguments == {"password": SECRET}
    conductor_connect().action_done(lease=order.lease, facts=world.RUNNING)
    assert state(instance) == ("active", "")
    assert not WorkSecret.objects.exists()
    assert SECRET not in everything_stored() + caplog.text


def test_password_is_gone_after_a_failure_which_names_the_guest() -> None:
    who = world.cloud()
    instance = with_agent(who)
    change_password(who, instance)
    said = {"message": "the guest's agent does not answer", "failure_class": FailureClass.USER}
    conductor_connect().action_failed(lease=world.order("h1").lease, step="updating_password", **said)
    assert state(instance) == ("active", "")
    assert faults(instance) == ["It could not be done: the guest's agent does not answer."]
    assert not WorkSecret.objects.exists()


def test_password_is_gone_with_its_instance_and_with_work_that_ended_otherwise() -> None:
    who = world.cloud()
    deleted, left = with_agent(who), with_agent(who)
    change_password(who, deleted)
    change_password(who, left)
    instance_delete(caller=who.member, instance_id=deleted.pk, is_forced=True)
    conductor_connect().deleted(lease=world.order("h1", WorkKind.DELETE).lease)
    assert [one.instance_uuid for one in WorkSecret.objects.all()] == [left.pk]
    assert work_secrets_sweep() == 0
    Work.objects.filter(subject=left.pk, kind="change_password").update(state="cancelled")
    assert work_secrets_sweep() == 1


@pytest.mark.parametrize("password", ["", "x" * 256, "nul\x00", "two\nlines"])
def test_password_that_no_guest_takes_is_refused_without_being_repeated(password: str) -> None:
    who = world.cloud()
    instance = with_agent(who)
    with pytest.raises(InvalidFields) as refused:
        change_password(who, instance, password)
    assert "password" in refused.value.errors
    assert not password or password not in str(refused.value.errors)


def test_password_without_a_guest_agent_is_refused_early() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    with pytest.raises(Conflict, match="hw_qemu_guest_agent"):
        change_password(who, instance)
    assert not WorkSecret.objects.exists()


def test_secret_of_another_key_is_left_out(settings: Any) -> None:
    who = world.cloud()
    instance = with_agent(who)
    change_password(who, instance)
    settings.SECRET_KEY = "y" * 60
    assert world.order("h1", WorkKind.CHANGE_PASSWORD).arguments == {}


def test_deletion_while_rescued_goes_its_way() -> None:
    who = world.cloud()
    instance = in_state(who, "rescued", rescue_image=image_snapshot(Image.objects.get(name="demo")))
    instance_delete(caller=who.member, instance_id=instance.pk)
    conductor_connect().deleted(lease=world.order("h1", WorkKind.DELETE).lease)
    assert state(instance) == ("deleted", "")


def test_power_sync_leaves_a_rescued_instance_alone() -> None:
    who = world.cloud()
    instance = in_state(who, "rescued", rescue_image=image_snapshot(Image.objects.get(name="demo")))
    off = replace(world.RUNNING, power_state=PowerState.SHUTDOWN)
    conductor_connect().power_states(host="h1", facts={str(instance.pk): off})
    assert state(instance) == ("rescued", "")
    assert not Work.objects.filter(subject=instance.pk, state="waiting").exists()


def test_rebuild_that_nobody_does_in_time_is_an_error() -> None:
    from controlplane.work import jobs

    who = world.cloud()
    instance = world.active(who.member)
    rebuild(who, instance)
    work = Work.objects.get(kind="rebuild")
    jobs.KINDS["rebuild"].overdue(work, "its time is over")
    assert state(instance) == ("error", "")
    assert InstanceAction.objects.get(instance_uuid=instance.pk, action="rebuild").result == "error"
    with pytest.raises(Fenced):
        conductor_connect().action_done(
            lease=replace(world.order("h1", WorkKind.REBUILD).lease, attempt=7), facts=world.RUNNING
        )


def test_password_of_a_rebuild_is_on_the_config_drive_once_and_then_gone() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    rebuild(who, instance, admin_pass=SECRET)
    assert SECRET not in everything_stored()
    order = world.order("h1", WorkKind.REBUILD)
    assert order.guest.config.asks_first_boot
    assert conductor_connect().first_boot(lease=order.lease).admin_password == SECRET
    conductor_connect().action_failed(lease=order.lease, step="rebuild_spawning", message="no")
    assert not FirstBootData.objects.exists()
    with pytest.raises(InvalidFields) as refused:
        rebuild(who, instance, admin_pass="two\nlines")
    assert list(refused.value.errors) == ["admin_pass"]


def test_rebuild_tells_nothing_to_an_instance_without_a_config_drive() -> None:
    who = world.cloud()
    instance = in_state(who, "active", config_drive=False)
    with pytest.raises(InvalidFields) as refused:
        rebuild(who, instance, admin_pass=SECRET, user_data="aGk=")
    assert set(refused.value.errors) == {"admin_pass", "user_data"}
    with pytest.raises(InvalidFields) as refused:
        rebuild(who, instance, personality=[{"path": "/a", "contents": "aGk="}])
    assert set(refused.value.errors) == {"personality"}


def test_rebuild_tells_by_the_metadata_service_what_it_can() -> None:
    who = world.cloud()
    instance = in_state(who, "active", config_drive=False)
    port(network(), instance.host, instance_uuid=instance.pk, project_id=instance.project_id)
    with pytest.raises(InvalidFields) as refused:
        rebuild(who, instance, admin_pass=SECRET, user_data="aGk=")
    assert set(refused.value.errors) == {"admin_pass"}
    rebuild(who, instance, user_data="aGk=")
    instance.refresh_from_db()
    assert instance.user_data == "aGk="


def test_password_of_a_rescue_is_on_its_config_drive_once_and_then_gone() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    instance_rescue(caller=who.member, instance_id=instance.pk, admin_pass=SECRET)
    assert SECRET not in everything_stored()
    order = world.order("h1", WorkKind.RESCUE)
    assert order.guest.config.asks_first_boot
    assert conductor_connect().first_boot(lease=order.lease).admin_password == SECRET
    conductor_connect().action_done(lease=order.lease, facts=world.RUNNING)
    assert not FirstBootData.objects.exists()

    other = in_state(who, "active", config_drive=False)
    with pytest.raises(InvalidFields) as refused:
        instance_rescue(caller=who.member, instance_id=other.pk, admin_pass=SECRET)
    assert list(refused.value.errors) == ["admin_pass"]
    rescue(who, other)
