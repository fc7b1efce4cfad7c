"""What no host can give of machine, buses and video together, by what hosts report."""

import pytest

from computeagent.protocol.hosts import GuestMachines
from scheduling.fleet.domain.machine_traits import machine_trait, machine_traits
from servers.instances.domain.machines_reported import Machines, machine_problems

PC = Machines(frozenset({"pc", "pc-i440fx-7.2"}), frozenset({"ide", "sata", "virtio"}), frozenset({"vga", "bochs"}))
Q35 = Machines(frozenset({"q35", "pc-q35-7.2"}), frozenset({"sata", "virtio"}), frozenset({"vga", "bochs"}))
VIRT = Machines(frozenset({"virt"}), frozenset({"virtio"}), frozenset({"virtio"}))
FLEET = [[PC, Q35], [PC, Q35, VIRT]]


@pytest.mark.parametrize(
    ("properties", "named"),
    [
        ({"hw_machine_type": "q35", "hw_disk_bus": "ide"}, ["hw_disk_bus=ide", "hw_machine_type=q35", "sata, virtio"]),
        ({"hw_machine_type": "q35", "img_root_device_name": "/dev/hda"}, ["img_root_device_name=/dev/hda", "=q35"]),
        ({"hw_machine_type": "pc-q35-7.2", "hw_cdrom_bus": "IDE"}, ["hw_cdrom_bus=IDE", "pc-q35-7.2"]),
        ({"hw_machine_type": "virt", "hw_video_model": "vga"}, ["hw_video_model=vga", "hw_machine_type=virt"]),
        ({"hw_machine_type": "isapc"}, ["hw_machine_type=isapc", "pc, pc-i440fx-7.2, pc-q35-7.2"]),
        ({"hw_machine_type": "Q35"}, ["hw_machine_type=Q35"]),
    ],
)
def test_what_no_host_gives_together_is_named_by_its_keys(properties: dict[str, str], named: list[str]) -> None:
    (sentence,) = machine_problems(properties, FLEET)
    assert [word for word in named if word not in sentence] == []


@pytest.mark.parametrize(
    "properties",
    [
        {},
        {"hw_disk_bus": "ide"},
        {"hw_machine_type": "pc", "hw_disk_bus": "ide", "hw_video_model": "bochs"},
        {"hw_machine_type": "virt"},
        # Of which libvirt says nothing for any machine: traits do.
        {"hw_machine_type": "pc", "hw_video_model": "vmvga"},
    ],
)
def test_what_some_host_gives_is_no_problem(properties: dict[str, str]) -> None:
    assert list(machine_problems(properties, FLEET)) == []


@pytest.mark.parametrize("hosts", [[], [[]], [[PC], []]])
def test_host_that_says_nothing_may_have_any_machine(hosts: list[list[Machines]]) -> None:
    assert list(machine_problems({"hw_machine_type": "q35"}, hosts)) == []


def test_machines_have_traits_by_the_names_of_os_traits() -> None:
    assert machine_trait("pc-q35-7.2") == "CUSTOM_MACHINE_TYPE_PC_Q35_7_2"
    reported = (GuestMachines(("pc", "q35")),)
    assert machine_traits(reported) == {"CUSTOM_MACHINE_TYPE_PC", "CUSTOM_MACHINE_TYPE_Q35"}
