"""What real libvirt and QEMU refuse because of the image is the request's fault; hosts say which machines they have."""

import pytest

from computeagent.drivers.base import DriverError
from computeagent.protocol.steps import FailureClass, HostBlame
from scheduling.models import ComputeNode
from servers.agent_api import conductor_connect
from servers.models import BuildRequest, Image
from tests.e2e.drivers.conftest import IMAGE, Hypervisor
from tests.e2e.drivers.test_ways_back import rescued
from tests.worlds import cloud as world

pytestmark = [pytest.mark.libvirt, pytest.mark.qemu]


@pytest.mark.parametrize(
    "properties",
    [
        {"hw_machine_type": "q35", "hw_disk_bus": "ide"},
        {"hw_machine_type": "isapc"},
        {"hw_usb_model": "none", "hw_input_bus": "usb"},
    ],
)
def test_hardware_that_does_not_go_together_is_the_requests_fault(qemu: Hypervisor, properties: dict[str, str]) -> None:
    guest = qemu.guest(image_properties=properties)
    qemu.driver.prepare_image(guest, lambda: iter([IMAGE]))
    qemu.driver.prepare_disks(guest)
    with pytest.raises(DriverError) as refused:
        qemu.driver.spawn(guest)
    assert refused.value.failure_class is FailureClass.USER
    assert [f"{key}={value}" in refused.value.message for key, value in properties.items()] == [True] * len(properties)


def test_machine_that_this_qemu_does_not_have_another_host_may(qemu: Hypervisor) -> None:
    guest = qemu.guest(image_properties={"hw_machine_type": "rhel-of-tomorrow"})
    qemu.driver.prepare_image(guest, lambda: iter([IMAGE]))
    qemu.driver.prepare_disks(guest)
    with pytest.raises(DriverError, match="rhel-of-tomorrow") as refused:
        qemu.driver.spawn(guest)
    assert (refused.value.failure_class, refused.value.blame) == (FailureClass.HOST, HostBlame.NEVER)


def test_host_reports_the_machines_that_guests_can_have(qemu: Hypervisor) -> None:
    machines = {name: one for one in qemu.driver.host_report().machines for name in one.names}
    assert {"pc", "q35"} <= set(machines)
    assert ("ide" in machines["pc"].disk_buses, "ide" in machines["q35"].disk_buses) == (True, False)
    assert {"virtio", "sata"} <= set(machines["q35"].disk_buses)
    assert "vga" in machines["q35"].video_models
    assert {"isapc", "microvm", "none"} & set(machines) == set()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({"hw_machine_type": "q35", "hw_disk_bus": "ide"}, ["hw_disk_bus=ide", "q35"]),
        ({"hw_machine_type": "q35", "img_root_device_name": "/dev/hda"}, ["img_root_device_name=/dev/hda", "q35"]),
        ({"hw_machine_type": "isapc"}, ["hw_machine_type=isapc", "no host has such a machine"]),
    ],
)
def test_create_of_it_is_refused_by_what_the_host_reports_and_nothing_counts(
    qemu: Hypervisor, properties: dict[str, str], words: list[str]
) -> None:
    who = world.people()
    world.flavor()
    world.image()
    conductor_connect().register(host="h1", report=qemu.driver.host_report())
    Image.objects.update(properties=properties)
    wanted = {"name": "vm", "flavor": "m1.tiny", "image": "demo", "min_count": 12}
    answer = world.client_of(who.member).post("/api/instances/", wanted, format="json")
    said = answer.content.decode()
    assert (answer.status_code, [word for word in words if word not in said]) == (400, []), said
    assert not BuildRequest.objects.exists()
    assert ComputeNode.objects.get().failed_builds == 0


def test_rescue_that_does_not_go_with_the_machine_is_the_requests_fault_and_names_its_key(qemu: Hypervisor) -> None:
    guest = qemu.build(qemu.guest(image_properties={"hw_machine_type": "q35"}))
    with pytest.raises(DriverError) as refused:
        rescued(qemu, guest, hw_rescue_bus="ide")
    assert refused.value.failure_class is FailureClass.USER
    assert "hw_machine_type=q35, hw_rescue_bus=ide" in refused.value.message
