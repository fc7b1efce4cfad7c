"""Nova's rules of pinned, huge and near guests, one by one, from a placed guest to its domain's XML."""

import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from computeagent.drivers.base import DriverError
from computeagent.drivers.libvirt.guest_tuning import GuestTuning, HostView, guest_tuning
from computeagent.drivers.libvirt.guest_xml import GuestDefinition, guest_metadata, guest_xml
from computeagent.protocol.guests import GuestSpec, PortSpec
from computeagent.protocol.pci import DeviceType, GivenDevice, PciDeviceRecord
from computeagent.protocol.steps import FailureClass
from computeagent.protocol.topology import CpuTopology, NUMACell, NUMAPages
from computeagent.protocol.topology_json import guest_from_dict
from controlplane.kernel.errors import Invalid

PAGES = (NUMAPages(4, 262144), NUMAPages(2048, 512), NUMAPages(1048576, 2))
HOST = HostView(
    cells=(
        NUMACell(0, frozenset({0, 1}), frozenset({2, 3}), 4096, socket=0, mempages=PAGES),
        NUMACell(1, frozenset({4, 5}), frozenset({6, 7}), 4096, socket=1, mempages=PAGES),
    ),
    shared_set=frozenset({0, 1, 4, 5}),
    pci_devices=(
        PciDeviceRecord("0000:0a:00.0", "10de", "1db6", DeviceType.STANDARD),
        PciDeviceRecord("0000:81:1f.7", "8086", "154c", DeviceType.VF, tags=(("managed", "false"),)),
    ),
)
NO_SETS = replace(HOST, shared_set=frozenset())
DEDICATED = {"id": 0, "cpuset": "", "pcpuset": "0-1", "memory_mib": 64, "host_cell": 1, "pinning": [[0, 6], [1, 7]]}
MIXED = DEDICATED | {"cpuset": "1", "pcpuset": "0", "pinning": [[0, 6]]}
FLOATING = {"id": 0, "cpuset": "0-1", "pcpuset": "", "memory_mib": 64, "host_cell": 0}
SPLIT = (
    {"id": 0, "cpuset": "0", "pcpuset": "", "memory_mib": 16, "host_cell": 1},
    {"id": 1, "cpuset": "1", "pcpuset": "", "memory_mib": 48, "host_cell": 0},
)
HOSTILE = "0</vcpu><devices/>"


def placed(guest: GuestSpec, *cells: dict[str, object], emulator: str = "", **changes: object) -> GuestSpec:
    topology: dict[str, object] = {"cells": list(cells)}
    if emulator:
        topology["emulator_threads"] = emulator
    return replace(guest, vcpus=2, numa_topology=guest_from_dict(topology), **changes)  # type: ignore[arg-type]


def domain(guest: GuestSpec, host: HostView = HOST) -> ET.Element:
    tuning = guest_tuning(guest, host)
    definition = GuestDefinition(guest_metadata(guest), "qemu", guest.vcpus, guest.memory_mib, tuning=tuning)
    return ET.fromstring(guest_xml(definition))  # noqa: S314 - what we have just made


def pins(root: ET.Element) -> dict[str | None, str | None]:
    return {pin.get("vcpu"): pin.get("cpuset") for pin in root.findall("cputune/vcpupin")}


def attributes(root: ET.Element, path: str) -> dict[str, str]:
    element = root.find(path)
    assert element is not None
    return element.attrib


def test_guest_without_constraints_has_nothing_of_the_kind(guest_spec: GuestSpec) -> None:
    root = domain(guest_spec, HostView())

    assert guest_tuning(guest_spec, HostView()) == GuestTuning()
    assert [root.find(tag) for tag in ("cputune", "numatune", "memoryBacking", "cpu")] == [None] * 4


def test_plain_guest_is_confined_to_the_shared_set(guest_spec: GuestSpec) -> None:
    assert attributes(domain(guest_spec), "vcpu") == {"cpuset": "0-1,4-5"}


def test_plain_guest_of_a_host_without_sets_is_confined_to_nothing(guest_spec: GuestSpec) -> None:
    assert attributes(domain(guest_spec, NO_SETS), "vcpu") == {}


def test_dedicated_vcpus_are_pinned_one_to_one(guest_spec: GuestSpec) -> None:
    root = domain(placed(guest_spec, DEDICATED))

    assert pins(root) == {"0": "6", "1": "7"}
    assert attributes(root, "vcpu") == {}


def test_vcpus_that_float_do_so_in_the_shared_cpus_of_their_cell(guest_spec: GuestSpec) -> None:
    assert pins(domain(placed(guest_spec, FLOATING))) == {"0": "0-1", "1": "0-1"}


def test_mixed_guest_has_both(guest_spec: GuestSpec) -> None:
    assert pins(domain(placed(guest_spec, MIXED))) == {"0": "6", "1": "4-5"}


def test_emulator_threads_run_where_the_vcpus_do(guest_spec: GuestSpec) -> None:
    assert attributes(domain(placed(guest_spec, DEDICATED)), "cputune/emulatorpin") == {"cpuset": "6-7"}


def test_isolated_emulator_threads_have_their_reserved_cpu(guest_spec: GuestSpec) -> None:
    cell = MIXED | {"reserved": "7"}

    root = domain(placed(guest_spec, cell, emulator="isolate"))
    assert attributes(root, "cputune/emulatorpin") == {"cpuset": "7"}


def test_sharing_emulator_threads_run_on_the_hosts_shared_set(guest_spec: GuestSpec) -> None:
    root = domain(placed(guest_spec, DEDICATED, emulator="share"))

    assert attributes(root, "cputune/emulatorpin") == {"cpuset": "0-1,4-5"}


def test_sharing_emulator_threads_of_a_host_without_sets_run_where_the_vcpus_do(guest_spec: GuestSpec) -> None:
    root = domain(placed(guest_spec, DEDICATED, emulator="share"), NO_SETS)

    assert attributes(root, "cputune/emulatorpin") == {"cpuset": "6-7"}


def test_memory_is_strictly_from_the_host_cell(guest_spec: GuestSpec) -> None:
    root = domain(placed(guest_spec, *SPLIT))

    assert attributes(root, "numatune/memory") == {"mode": "strict", "nodeset": "0-1"}
    assert [node.attrib for node in root.findall("numatune/memnode")] == [
        {"cellid": "0", "mode": "strict", "nodeset": "1"},
        {"cellid": "1", "mode": "strict", "nodeset": "0"},
    ]


def test_guest_sees_its_cells_numbered_from_zero(guest_spec: GuestSpec) -> None:
    shifted = [cell | {"id": cell["id"] + 4} for cell in SPLIT]  # type: ignore[operator]

    root = domain(placed(guest_spec, *shifted))
    assert [cell.attrib for cell in root.findall("cpu/numa/cell")] == [
        {"id": "0", "cpus": "0", "memory": "16384", "unit": "KiB"},
        {"id": "1", "cpus": "1", "memory": "49152", "unit": "KiB"},
    ]


def test_huge_pages_are_named_by_size_and_guest_cell(guest_spec: GuestSpec) -> None:
    root = domain(placed(guest_spec, SPLIT[0] | {"page_size": 2048}, SPLIT[1]))

    assert [page.attrib for page in root.findall("memoryBacking/hugepages/page")] == [
        {"size": "2048", "unit": "KiB", "nodeset": "0"}
    ]


def test_memory_in_huge_pages_is_shared_with_other_processes(guest_spec: GuestSpec) -> None:
    root = domain(placed(guest_spec, SPLIT[0] | {"page_size": 2048}, SPLIT[1]))

    assert [cell.get("memAccess") for cell in root.findall("cpu/numa/cell")] == ["shared", "shared"]


def test_pages_of_the_smallest_size_need_no_backing(guest_spec: GuestSpec) -> None:
    root = domain(placed(guest_spec, FLOATING | {"page_size": 4}))

    assert root.find("memoryBacking") is None
    assert attributes(root, "cpu/numa/cell").get("memAccess") is None


def test_locked_memory_is_locked(guest_spec: GuestSpec) -> None:
    root = domain(replace(guest_spec, has_locked_memory=True))

    assert [child.tag for child in root.findall("memoryBacking/*")] == ["locked"]


def test_realtime_vcpus_have_their_scheduler(guest_spec: GuestSpec) -> None:
    root = domain(placed(guest_spec, DEDICATED, realtime_vcpus="1"))

    assert attributes(root, "cputune/vcpusched") == {"vcpus": "1", "scheduler": "fifo", "priority": "1"}


def test_memory_of_a_realtime_guest_is_locked_and_never_merged(guest_spec: GuestSpec) -> None:
    root = domain(placed(guest_spec, DEDICATED, realtime_vcpus="1"))

    assert [child.tag for child in root.findall("memoryBacking/*")] == ["nosharepages", "locked"]


def test_emulator_threads_keep_off_realtime_vcpus(guest_spec: GuestSpec) -> None:
    root = domain(placed(guest_spec, DEDICATED, realtime_vcpus="1"))

    assert attributes(root, "cputune/emulatorpin") == {"cpuset": "6"}


def test_realtime_guest_that_shares_emulator_threads_needs_a_shared_set(guest_spec: GuestSpec) -> None:
    guest = placed(guest_spec, DEDICATED, realtime_vcpus="1", emulator="share")

    with pytest.raises(DriverError, match="no shared CPU set") as caught:
        guest_tuning(guest, NO_SETS)
    assert caught.value.failure_class is FailureClass.HOST


def test_quotas_of_the_flavor_are_set(guest_spec: GuestSpec) -> None:
    specs = {"quota:cpu_shares": "2048", "quota:cpu_period": "20000", "quota:cpu_quota": "10000"}
    root = domain(replace(guest_spec, extra_specs=specs))

    assert {child.tag: child.text for child in root.findall("cputune/*")} == {
        "shares": "2048",
        "period": "20000",
        "quota": "10000",
    }


def test_quota_without_a_limit_is_none(guest_spec: GuestSpec) -> None:
    assert domain(replace(guest_spec, extra_specs={"quota:cpu_quota": "-1"})).find("cputune") is None


@pytest.mark.parametrize(
    ("key", "text"),
    [("cpu_shares", "1"), ("cpu_period", "999"), ("cpu_quota", "999"), ("cpu_quota", "ten"), ("cpu_shares", HOSTILE)],
)
def test_quota_out_of_libvirts_range_is_the_users_fault(guest_spec: GuestSpec, key: str, text: str) -> None:
    with pytest.raises(DriverError, match=f"quota:{key}") as caught:
        guest_tuning(replace(guest_spec, extra_specs={f"quota:{key}": text}), HOST)
    assert caught.value.failure_class is FailureClass.USER


def test_cpu_topology_is_what_the_guest_sees(guest_spec: GuestSpec) -> None:
    shape = CpuTopology(1, 2, 2)
    root = domain(replace(guest_spec, vcpus=4, cpu_topology=shape))

    assert attributes(root, "cpu/topology") == {"sockets": "1", "cores": "2", "threads": "2"}


def test_cpu_topology_of_other_vcpus_is_refused(guest_spec: GuestSpec) -> None:
    with pytest.raises(DriverError, match="are not 1 vCPUs"):
        guest_tuning(replace(guest_spec, cpu_topology=CpuTopology(1, 2, 1)), HOST)


def test_device_is_handed_through_by_its_address(guest_spec: GuestSpec) -> None:
    root = domain(replace(guest_spec, pci_devices=(GivenDevice("0000:0a:00.0", "gpu"),)))

    assert attributes(root, "devices/hostdev") == {"mode": "subsystem", "type": "pci", "managed": "yes"}
    assert attributes(root, "devices/hostdev/source/address") == {
        "domain": "0x0000",
        "bus": "0x0a",
        "slot": "0x00",
        "function": "0x0",
    }


def test_device_of_a_port_has_its_address(guest_spec: GuestSpec) -> None:
    port = PortSpec("fa:16:3e:00:00:09", "n1", id="p1", vnic_type="direct", pci_request_id="p1")
    given = (GivenDevice("0000:0a:00.0", request_id="p1"),)
    root = domain(replace(guest_spec, ports=(port,), pci_devices=given))

    assert root.find("devices/hostdev") is None
    card = next(each for each in root.findall("devices/interface") if each.get("type") == "hostdev")
    assert card.get("managed") == "yes"
    assert attributes(card, "mac") == {"address": port.mac}
    assert attributes(card, "source/address") == {
        "type": "pci",
        "domain": "0x0000",
        "bus": "0x0a",
        "slot": "0x00",
        "function": "0x0",
    }


def test_whole_card_of_a_port_is_handed_through_as_it_is(guest_spec: GuestSpec) -> None:
    port = PortSpec("fa:16:3e:00:00:09", "n1", id="p1", vnic_type="direct-physical", pci_request_id="p1")
    given = (GivenDevice("0000:0a:00.0", request_id="p1"),)
    root = domain(replace(guest_spec, ports=(port,), pci_devices=given))

    assert attributes(root, "devices/hostdev")["managed"] == "yes"


def test_macvtap_is_on_the_interface_of_the_device(guest_spec: GuestSpec) -> None:
    port = PortSpec("fa:16:3e:00:00:09", "n1", id="p1", vnic_type="macvtap", pci_request_id="p1")
    given = (GivenDevice("0000:0a:00.0", request_id="p1"),)
    asked = replace(guest_spec, ports=(port,), pci_devices=given)
    with pytest.raises(DriverError, match="has no interface of this host"):
        guest_tuning(asked, HOST)
    named = replace(HOST, pci_devices=tuple(replace(each, devname="enp10s0") for each in HOST.pci_devices))
    (device,) = guest_tuning(asked, named).devices
    assert (device.mac, device.devname) == (port.mac, "enp10s0")


def test_device_that_its_spec_leaves_to_the_operator_is_not_managed(guest_spec: GuestSpec) -> None:
    root = domain(replace(guest_spec, pci_devices=(GivenDevice("0000:81:1f.7"),)))

    assert attributes(root, "devices/hostdev")["managed"] == "no"


@pytest.mark.parametrize("address", ["0000:0b:00.0", "/etc/shadow", "", "0000:0a:00.0\n", "0000:0a:2f.0"])
def test_device_that_the_host_does_not_offer_is_refused(guest_spec: GuestSpec, address: str) -> None:
    with pytest.raises(DriverError, match="PCI"):
        guest_tuning(replace(guest_spec, pci_devices=(GivenDevice(address),)), HOST)


def test_cell_that_the_host_does_not_have_is_refused(guest_spec: GuestSpec) -> None:
    with pytest.raises(DriverError, match="NUMA cell 2; this host has 0-1"):
        guest_tuning(placed(guest_spec, FLOATING | {"host_cell": 2}), HOST)


def test_floating_vcpu_on_a_cell_that_shares_nothing_is_refused(guest_spec: GuestSpec) -> None:
    host = replace(HOST, cells=(replace(HOST.cells[0], cpuset=frozenset()),))

    with pytest.raises(DriverError, match="shares no CPU"):
        guest_tuning(placed(guest_spec, FLOATING), host)


@pytest.mark.parametrize("part", ["id", "cpuset", "memory_mib", "host_cell", "page_size"])
def test_hostile_topology_is_refused(guest_spec: GuestSpec, part: str) -> None:
    with pytest.raises(Invalid):
        placed(guest_spec, DEDICATED | {part: HOSTILE})


def test_hostile_list_of_vcpus_is_refused(guest_spec: GuestSpec) -> None:
    with pytest.raises(DriverError):
        guest_tuning(replace(guest_spec, realtime_vcpus=HOSTILE), HOST)
