"""What a host offers of its machine: CPU sets, reserved pages, made-up cells."""

from pathlib import Path

import pytest

from computeagent.drivers.base import DriverError
from computeagent.drivers.device_spec import device_specs_of_text
from computeagent.drivers.factory import driver_open
from computeagent.drivers.fake import FakeDriver
from computeagent.drivers.fake_hardware import FakeSizes, fake_devices
from computeagent.drivers.host_cells import MachineCells, evenly, has_threads, host_topology, online_cpus
from computeagent.drivers.host_options import HostOptions, ReservedPages, reserved_pages_parse
from computeagent.drivers.libvirt.capabilities import capabilities_parse, traits_of
from computeagent.protocol.topology import NUMACell
from controlplane.kernel.errors import Invalid

TWO_CELLS = evenly(2, cpus=8, threads=2, memory_mib=4096, huge_pages=((2048, 512),))
CAPABILITIES = """
<capabilities><host><cpu><arch>x86_64</arch></cpu><topology><cells num='2'>
<cell id='0'><memory unit='KiB'>4194304</memory><pages unit='KiB' size='4'>917504</pages>
<pages unit='KiB' size='2048'>256</pages><distances><sibling id='0' value='10'/></distances>
<cpus num='3'><cpu id='0' socket_id='0' die_id='0' core_id='0' siblings='0,2'/><cpu id='1'/>
<cpu id='2' socket_id='0' die_id='0' core_id='0' siblings='0,2'/></cpus></cell>
<cell id='1'><memory unit='KiB'>2097152</memory><cpus num='1'>
<cpu id='3' socket_id='1' die_id='0' core_id='0' siblings='3'/></cpus></cell>
</cells></topology></host></capabilities>"""


def host_cells(cells: MachineCells, options: HostOptions) -> tuple[NUMACell, ...]:
    topology = host_topology(cells, options)
    assert topology is not None
    return topology.cells


def test_machine_without_cells_reports_no_topology() -> None:
    assert host_topology((), HostOptions()) is None


def test_capabilities_give_cells_with_memory_pages_and_siblings() -> None:
    first, second = capabilities_parse(CAPABILITIES).cells

    assert (first.id, first.memory_mib, first.pages) == (0, 4096, ((4, 917504), (2048, 256)))
    assert [(cpu.id, cpu.socket, cpu.siblings) for cpu in first.cpus] == [(0, 0, {0, 2}), (2, 0, {0, 2})]
    assert (second.memory_mib, second.pages, second.cpus[0].socket) == (2048, (), 1)


def test_offline_cpu_is_not_online() -> None:
    assert online_cpus(capabilities_parse(CAPABILITIES).cells, vcpus=99) == {0, 2, 3}


def test_machine_without_cells_counts_its_cpus() -> None:
    assert online_cpus((), vcpus=3) == {0, 1, 2}


def test_threads_are_a_trait() -> None:
    cells = capabilities_parse(CAPABILITIES).cells

    assert "HW_CPU_HYPERTHREADING" in traits_of("x86_64", (), cells)
    assert "HW_CPU_HYPERTHREADING" not in traits_of("x86_64", (), cells[1:])


def test_host_without_cpu_sets_offers_all_cpus_for_both() -> None:
    cell = host_cells(TWO_CELLS, HostOptions())[0]

    assert cell.cpuset == cell.pcpuset == {0, 1, 2, 3}
    assert cell.siblings == ({0, 1}, {2, 3})


def test_dedicated_set_alone_leaves_nothing_to_share() -> None:
    options = HostOptions(cpu_dedicated_set=frozenset({2, 3}))

    assert [(cell.cpuset, cell.pcpuset) for cell in host_cells(TWO_CELLS, options)] == [
        (set(), {2, 3}),
        (set(), set()),
    ]


def test_shared_set_alone_leaves_nothing_to_pin_to() -> None:
    options = HostOptions(cpu_shared_set=frozenset({0, 4}))

    assert [(cell.cpuset, cell.pcpuset) for cell in host_cells(TWO_CELLS, options)] == [({0}, set()), ({4}, set())]


def test_threads_that_are_not_offered_are_no_siblings() -> None:
    options = HostOptions(cpu_dedicated_set=frozenset({1, 2, 3}))

    assert host_cells(TWO_CELLS, options)[0].siblings == ({1}, {2, 3})


def test_cpu_in_both_sets_is_refused() -> None:
    with pytest.raises(Invalid, match="CPUs 3 are in the dedicated and in the shared set"):
        HostOptions(cpu_dedicated_set=frozenset({2, 3}), cpu_shared_set=frozenset({3, 4}))


@pytest.mark.parametrize("name", ["cpu_dedicated_set", "cpu_shared_set"])
def test_set_with_a_cpu_that_is_not_online_is_refused(name: str) -> None:
    with pytest.raises(DriverError, match=r"CPUs 8-9 of the \w+ set are not online here; online are 0-7"):
        host_cells(TWO_CELLS, HostOptions(**{name: frozenset({7, 8, 9})}))


def test_cell_that_spans_sockets_has_none() -> None:
    one = evenly(1, cpus=2, threads=1, memory_mib=1)[0]
    two = evenly(2, cpus=4, threads=1, memory_mib=1)[1]
    spanning = type(one)(0, one.cpus + two.cpus, 1)

    assert host_cells((spanning,), HostOptions())[0].socket is None


def test_reserved_pages_are_kept_from_guests() -> None:
    first, second = host_cells(TWO_CELLS, HostOptions(reserved_pages=(ReservedPages(1, 2048, 64),)))

    assert [stock.reserved for stock in first.mempages] == [0, 0]
    assert [(stock.size_kib, stock.reserved) for stock in second.mempages] == [(4, 0), (2048, 64)]


@pytest.mark.parametrize("reserved", [ReservedPages(2, 2048, 1), ReservedPages(0, 1048576, 1)])
def test_reservation_of_what_the_machine_lacks_is_refused(reserved: ReservedPages) -> None:
    with pytest.raises(DriverError, match="which this machine does not have"):
        host_cells(TWO_CELLS, HostOptions(reserved_pages=(reserved,)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("node:0,size:2048,count:64", ReservedPages(0, 2048, 64)),
        ("node:1, size:1GB, count:1", ReservedPages(1, 1048576, 1)),
        ("count:2,node:0,size:2MiB", ReservedPages(0, 2048, 2)),
    ],
)
def test_reservation_is_read_in_novas_form(text: str, expected: ReservedPages) -> None:
    assert reserved_pages_parse(text) == expected


@pytest.mark.parametrize(
    "text",
    ["", "node:0,size:2048", "node:0,size:x,count:1", "node:a,size:4,count:1", "node:0,size:0,count:1", "0,2048,64"],
)
def test_text_that_is_no_reservation_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        reserved_pages_parse(text)


def test_made_up_cells_share_cpus_memory_and_pages() -> None:
    assert [len(cell.cpus) for cell in TWO_CELLS] == [4, 4]
    assert [cell.memory_mib for cell in TWO_CELLS] == [2048, 2048]
    # Half of a cell's memory is in huge pages, so half is left for small ones.
    assert TWO_CELLS[0].pages == ((4, 262144), (2048, 512))
    assert has_threads(TWO_CELLS)


def test_fake_host_reports_cells_that_the_scheduler_reads() -> None:
    report = FakeDriver("n").host_report()

    assert report.numa_topology is not None
    topology = report.numa_topology
    assert sum(len(cell.cpuset) for cell in topology) == report.vcpus == 64
    assert topology.has_threads
    assert [[pages.size_kib for pages in cell.mempages] for cell in topology] == [[4, 2048, 1048576]] * 2


def test_fake_host_divides_its_cpus_as_it_is_told() -> None:
    options = HostOptions(cpu_dedicated_set=frozenset(range(8, 64)), cpu_shared_set=frozenset(range(4)))
    report = FakeDriver("n", options=options).host_report()

    assert (report.vcpus, report.dedicated_vcpus) == (4, 56)


def test_fake_host_gives_away_no_device_without_specs() -> None:
    assert FakeDriver("n").host_report().pci_devices == ()


def test_fake_host_gives_away_the_devices_of_the_specs() -> None:
    driver = FakeDriver("n", options=HostOptions(device_specs=device_specs_of_text('{"vendor_id": "10de"}')))

    found = driver.host_report().pci_devices
    assert [(device.address, device.numa_node) for device in found] == [("0000:10:00.0", 0), ("0000:11:00.0", 1)]


def test_fake_network_card_has_functions() -> None:
    card, *functions = fake_devices(FakeSizes(gpus=0, nics=1))

    assert card.dev_type == "type-PF"
    assert {(each.dev_type, each.parent_address) for each in functions} == {("type-VF", card.address)}


def test_fake_uri_makes_another_machine(tmp_path: Path) -> None:
    driver = driver_open("fake:///h?memory=1&numa_cells=4&threads=1", tmp_path, "h", vcpus=8)

    topology = driver.host_report().numa_topology
    assert topology is not None
    assert [len(cell.cpuset) for cell in topology] == [2, 2, 2, 2]
    assert not topology.has_threads


@pytest.mark.parametrize("query", ["threads=0", "numa_cells=x", "gpus=-1", "nics=1000"])
def test_fake_uri_with_an_impossible_amount_is_refused(tmp_path: Path, query: str) -> None:
    with pytest.raises(DriverError, match="must be a whole number"):
        driver_open(f"fake:///h?{query}", tmp_path, "h")
