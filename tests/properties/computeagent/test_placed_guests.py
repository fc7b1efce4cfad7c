"""What the scheduler places, an agent can build: both sides read the same report and the same placed guest."""

import xml.etree.ElementTree as ET

from hypothesis import assume, given
from hypothesis import strategies as st

from computeagent.agent.topology_check import topology_complaints
from computeagent.drivers.fake import FakeDriver
from computeagent.drivers.fake_hardware import FakeSizes
from computeagent.drivers.host_options import HostOptions
from computeagent.drivers.libvirt.guest_tuning import HostView, guest_tuning
from computeagent.drivers.libvirt.guest_xml import GuestDefinition, guest_metadata, guest_xml
from computeagent.protocol.guests import GuestSpec
from computeagent.protocol.topology import GuestTopology
from controlplane.kernel.cpu_list import parse_cpus
from scheduling.domain.snapshots import FlavorSnapshot, ImageSnapshot
from scheduling.topology.domain.numa.constraint import guest_topology
from scheduling.topology.domain.numa.fit import fit

CPUS = 16
MEMORY_MIB = 2048


POLICIES = (
    {},
    {"hw:cpu_policy": "dedicated"},
    {"hw:cpu_policy": "dedicated", "hw:cpu_thread_policy": "prefer"},
    {"hw:cpu_policy": "dedicated", "hw:emulator_threads_policy": "isolate"},
    {"hw:cpu_policy": "dedicated", "hw:emulator_threads_policy": "share"},
    {"hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": "^0"},
)


@st.composite
def fake_hosts(draw: st.DrawFn) -> tuple[FakeDriver, HostOptions]:
    """Hosts whose CPUs are divided at random, or not at all."""
    cells, threads = draw(st.sampled_from([2, 4])), draw(st.sampled_from([1, 2]))
    sizes = FakeSizes(vcpus=CPUS, memory_mib=16384, numa_cells=cells, threads=threads)
    dedicated = frozenset(draw(st.sets(st.integers(0, CPUS - 1), min_size=8))) if draw(st.booleans()) else frozenset()
    options = HostOptions(dedicated, frozenset(range(CPUS)) - dedicated if dedicated else frozenset())
    return FakeDriver("h", sizes=sizes, options=options), options


@st.composite
def flavors(draw: st.DrawFn) -> FlavorSnapshot:
    """Flavors that ask for one or two cells."""
    specs = {
        **draw(st.sampled_from(POLICIES)),
        "hw:numa_nodes": draw(st.sampled_from(["1", "2"])),
        "hw:mem_page_size": draw(st.sampled_from(["small", "large", "any", "2MB"])),
    }
    return FlavorSnapshot("f", "f", vcpus=draw(st.sampled_from([2, 4])), memory_mib=MEMORY_MIB, extra_specs=specs)


def guest_of(flavor: FlavorSnapshot, numa: GuestTopology) -> GuestSpec:
    return GuestSpec(
        uuid="f81d4fae-7dec-41d0-a765-00a0c91e6bf6",
        name="web-1",
        project_id="p1",
        vcpus=flavor.vcpus,
        memory_mib=flavor.memory_mib,
        root_gib=1,
        ephemeral_gib=0,
        swap_mib=0,
        image_id="i1",
        image_checksum="",
        image_size_bytes=0,
        image_disk_format="raw",
        numa_topology=numa,
    )


@given(host=fake_hosts(), flavor=flavors())
def test_guest_that_fits_a_report_is_built_where_it_was_placed(
    host: tuple[FakeDriver, HostOptions], flavor: FlavorSnapshot
) -> None:
    driver, options = host
    report = driver.host_report()
    wanted_value = guest_topology(flavor, ImageSnapshot())
    assert report.numa_topology is not None
    assert wanted_value is not None
    placed = fit(report.numa_topology, wanted_value)
    assume(isinstance(placed, GuestTopology))
    assert isinstance(placed, GuestTopology)
    guest = guest_of(flavor, placed)

    assert topology_complaints(guest, report) == []
    view = HostView(report.numa_topology.cells, options.cpu_shared_set)
    definition = GuestDefinition(
        guest_metadata(guest), "qemu", guest.vcpus, guest.memory_mib, tuning=guest_tuning(guest, view)
    )
    root = ET.fromstring(guest_xml(definition))  # noqa: S314 - what we have just made
    pins = {int(pin.get("vcpu", "")): parse_cpus(pin.get("cpuset", "")) for pin in root.findall("cputune/vcpupin")}
    assert pins.keys() == set(range(flavor.vcpus))
    pinned = {vcpu: {cpu} for cell in placed for vcpu, cpu in cell.pinning}
    assert {vcpu: cpus for vcpu, cpus in pins.items() if vcpu in pinned} == pinned
    assert sum(int(cell.get("memory", "0")) for cell in root.findall("cpu/numa/cell")) == MEMORY_MIB * 1024
