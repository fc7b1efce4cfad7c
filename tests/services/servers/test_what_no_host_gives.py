"""What Nova knows and no guest here can have: refused with a reason, and no host is ever tried."""

from dataclasses import replace
from typing import Any

import pytest

from computeagent.protocol.hosts import GuestMachines
from controlplane.identity.models import Project
from controlplane.kernel.errors import InvalidFields
from scheduling.models import SchedulingDecision
from servers.instances.domain.instance_create import InstanceCreate
from servers.instances.services.create import instances_create
from servers.models import AttemptRecord, BuildRequest, Flavor, Image, Instance
from tests.worlds import cloud as world
from tests.worlds.volumes import storage_pool, volume_row

pytestmark = pytest.mark.django_db(transaction=True)
WANTED = InstanceCreate(name="vm", flavor="m1.tiny", image="demo")
PC = GuestMachines(("pc",), ("ide", "sata", "virtio"), ("vga",))
Q35 = GuestMachines(("q35",), ("sata", "virtio"), ("vga",))


@pytest.mark.parametrize(
    ("specs", "properties", "field", "reason"),
    [
        ({"hw:redirected_usb_ports": "1"}, {}, "flavor", "no guest's USB ports are redirected here"),
        ({"quota:vif_inbound_peak": "1"}, {}, "flavor", "needs quota:vif_inbound_average"),
        ({"hw:maxphysaddr_bits": "48"}, {}, "flavor", "needs hw:maxphysaddr_mode=emulate"),
        ({"hw:usb_model": "none", "hw:sound_model": "usb"}, {}, "flavor", "which hw:sound_model asks for"),
        ({"hw:tpm_model": "tpm-crb", "hw:tpm_version": "1.2"}, {}, "flavor", "tpm-crb goes with"),
        ({"hw:numa_nodes": "3"}, {}, "flavor", "cannot be split over 3 cells"),
        ({"hw:mem_encryption": "yes", "hw:mem_encryption_model": "amd-sev-snp"}, {}, "image", "needs hw_firmware_sta"),
        ({"os:secure_boot": "required"}, {}, "image", "needs an image with hw_firmware_type=uefi"),
        ({"hw:cpu_policy": "shared"}, {"hw_cpu_policy": "dedicated"}, "image", "contradicts hw:cpu_policy"),
        ({}, {"hw_numa_nodes": "3"}, "image", "cannot be split over 3 cells"),
        ({}, {"hw_usb_model": "none", "hw_sound_model": "usb"}, "image", "which hw:sound_model asks for"),
        ({}, {"hw_redirected_usb_ports": "1"}, "image", "no guest's USB ports are redirected here"),
        ({}, {"hw_floppy_bus": "fdc"}, "image", "no guest has a floppy drive here"),
        ({}, {"hw_rescue_device": "floppy"}, "image", "a rescue disk is one of disk, cdrom"),
        ({}, {"hw_ipxe_boot": "yes"}, "image", "no guest boots a CD that configures the network"),
    ],
)
def test_refused_when_it_is_asked_for(
    specs: dict[str, str], properties: dict[str, str], field: str, reason: str
) -> None:
    who = world.cloud()
    Flavor.objects.filter(name="m1.tiny").update(extra_specs=specs)
    Image.objects.filter(name="demo").update(properties=properties)
    with pytest.raises(InvalidFields) as refused:
        instances_create(caller=who.member, wanted=WANTED)
    assert list(refused.value.errors) == [field]
    assert reason in str(refused.value.errors[field])
    assert not BuildRequest.objects.exists()


@pytest.mark.parametrize(
    ("specs", "properties", "field", "reason"),
    [
        ({}, {"hw_floppy_bus": "fdc"}, "block_device_mapping_v2", "hw_floppy_bus=fdc of the image cannot be given"),
        ({"hw:sound_model": "sb32"}, {}, "flavor", "hw:sound_model=sb32 of the flavor cannot be given"),
    ],
)
def test_refused_of_a_root_volume_by_the_field_that_names_it(
    specs: dict[str, str], properties: dict[str, str], field: str, reason: str
) -> None:
    who = world.cloud("h1")
    Flavor.objects.filter(name="m1.tiny").update(extra_specs=specs)
    project = Project.objects.get(pk=who.member.project_id)
    root = volume_row(project, pool=storage_pool("shared", "h1"), is_bootable=True, image={"properties": properties})
    disks = [{"source_type": "volume", "uuid": str(root.pk), "boot_index": 0}]
    with pytest.raises(InvalidFields) as refused:
        instances_create(caller=who.member, wanted=replace(WANTED, image="", block_device_mapping_v2=disks))
    assert list(refused.value.errors) == [field]
    assert reason in str(refused.value.errors)


@pytest.mark.parametrize(
    ("specs", "properties", "missing"),
    [
        ({"hw:mem_encryption": "yes"}, {"hw_firmware_type": "uefi", "hw_machine_type": "q35"}, "MEM_ENCRYPTION"),
        ({"hw:pmem": "fast"}, {}, "PMEM"),
        ({"hw:ephemeral_encryption": "yes"}, {}, "EPHEMERAL_ENCRYPTION"),
    ],
)
def test_no_host_is_tried_for_what_none_reports(
    specs: dict[str, str], properties: dict[str, Any], missing: str
) -> None:
    who = world.cloud()
    Flavor.objects.filter(name="m1.tiny").update(extra_specs=specs)
    Image.objects.filter(name="demo").update(properties=properties)
    instances_create(caller=who.member, wanted=WANTED)
    world.pump()
    instance = Instance.objects.get()
    assert (instance.vm_state, instance.host) == ("error", "")
    assert not AttemptRecord.objects.exists()
    decision = SchedulingDecision.objects.get()
    assert decision.outcome == "no_valid_host"
    shown = world.client_of(who.admin).get(f"/api/decisions/{decision.pk}/")
    assert missing in shown.content.decode()


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        ({"hw_machine_type": "q35", "hw_disk_bus": "ide"}, "hw_disk_bus=ide of the image: a machine of type q35"),
        ({"hw_machine_type": "q35", "img_root_device_name": "/dev/hda"}, "goes with no hw_machine_type=q35"),
        ({"hw_machine_type": "isapc"}, "no host has such a machine"),
    ],
)
def test_machine_and_devices_that_no_host_has_together_are_refused_with_both_keys(
    properties: dict[str, str], reason: str
) -> None:
    who = world.cloud()
    world.host("h1", machines=(PC, Q35))
    Image.objects.filter(name="demo").update(properties=properties)
    answer = world.client_of(who.member).post(
        "/api/instances/", {"name": "vm", "flavor": "m1.tiny", "image": "demo"}, format="json"
    )
    assert (answer.status_code, reason in answer.content.decode()) == (400, True)
    assert not BuildRequest.objects.exists()


@pytest.mark.parametrize("machines", [(), (PC, Q35)])
def test_disk_on_a_bus_that_the_machine_does_not_have_is_refused(machines: tuple[GuestMachines, ...]) -> None:
    who = world.cloud()
    world.host("h1", machines=machines)
    Image.objects.filter(name="demo").update(properties={"hw_machine_type": "q35"})
    disks = [
        {"source_type": "image", "destination_type": "local", "uuid": str(Image.objects.get().pk), "boot_index": 0},
        {"source_type": "blank", "destination_type": "volume", "volume_size": 1, "disk_bus": "ide"},
    ]
    wanted = {"name": "vm", "flavor": "m1.tiny", "image": "demo", "block_device_mapping_v2": disks}
    answer = world.client_of(who.member).post("/api/instances/", wanted, format="json")
    said = answer.content.decode()
    assert (answer.status_code, "disk_bus=ide goes with no machine of type q35" in said) == (400, True), said


def test_machine_that_only_one_host_has_is_built_there() -> None:
    who = world.cloud("h1", "h2", "h3")
    for name, machines in (("h1", (PC,)), ("h2", (PC, Q35)), ("h3", (PC,))):
        world.host(name, machines=machines)
    Image.objects.filter(name="demo").update(properties={"hw_machine_type": "q35"})
    instances_create(caller=who.member, wanted=WANTED)
    world.pump()
    assert Instance.objects.get().host == "h2"


def test_machine_of_which_no_host_says_anything_is_tried() -> None:
    who = world.cloud("h1")
    Image.objects.filter(name="demo").update(properties={"hw_machine_type": "pc-q35-9.9"})
    instances_create(caller=who.member, wanted=WANTED)
    world.pump()
    assert Instance.objects.get().host == "h1"
