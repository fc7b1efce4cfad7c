"""What holds for every host and guest: claims, limits, and agreement with a search that tries everything."""

from itertools import permutations

from hypothesis import given, settings
from hypothesis import strategies as st

from computeagent.protocol.topology import (
    CpuPolicy,
    EmulatorThreads,
    GuestTopology,
    HostTopology,
    InstanceNUMACell,
    NUMACell,
    NUMAPages,
    ThreadPolicy,
)
from computeagent.protocol.topology_json import guest_from_dict, guest_to_dict, host_from_dict, host_to_dict
from controlplane.kernel.reasons import Refusal
from scheduling.domain.hosts.host_rows import InventoryRow
from scheduling.filters.numa_topology import NUMATopologyFilter
from scheduling.topology.domain.numa.cell_fit import Limits, fit_cell
from scheduling.topology.domain.numa.constraint import guest_topology
from scheduling.topology.domain.numa.fit import FitNeeds, fit
from scheduling.topology.domain.numa.network import NetworkNeeds, refuse_far_networks
from scheduling.topology.domain.numa.usage import claim, free
from scheduling.topology.domain.pci.asked import PciRequest
from scheduling.topology.domain.pci.codec import pools_to_list
from scheduling.topology.domain.pci.pool import NumaPolicy, PciPool
from scheduling.topology.domain.pci.pool import free as give_back
from scheduling.topology.domain.pci.support import NumaPlace, consume, refuse_pci
from scheduling.topology.domain.pci.support import claim as take
from tests.units.scheduling import worlds

CPUS = 8


@st.composite
def host_cells(draw: st.DrawFn, at: int) -> NUMACell:
    threads = draw(st.sampled_from([1, 2, 4]))
    first = at * CPUS
    numbers = range(first, first + CPUS)
    pinnable = frozenset(draw(st.sets(st.sampled_from(numbers)))) if draw(st.booleans()) else frozenset(numbers)
    shared = frozenset(numbers) if draw(st.booleans()) else frozenset(numbers) - pinnable
    pinned = frozenset(draw(st.sets(st.sampled_from(sorted(pinnable))))) if pinnable else frozenset()
    sizes = draw(st.sampled_from([(), (4,), (4, 2048)]))
    return NUMACell(
        id=at,
        cpuset=shared,
        pcpuset=pinnable,
        memory_mib=4096,
        socket=draw(st.sampled_from([0, 1, None])),
        cpu_usage=draw(st.integers(0, 12)),
        memory_used_mib=draw(st.integers(0, 4096)),
        pinned_cpus=pinned,
        siblings=tuple(frozenset(range(one, one + threads)) for one in range(first, first + CPUS, threads)),
        mempages=tuple(
            NUMAPages(size, 2048 * 1024 // size, draw(st.integers(0, 1024 * 1024 // size))) for size in sizes
        ),
        physnets=frozenset(draw(st.sets(st.sampled_from("ab"), max_size=1))),
    )


@st.composite
def hosts(draw: st.DrawFn) -> HostTopology:
    return HostTopology(tuple(draw(host_cells(at)) for at in range(draw(st.integers(1, 3)))))


@st.composite
def guests(draw: st.DrawFn) -> GuestTopology:
    policy = draw(st.sampled_from([None, *CpuPolicy]))
    threads = draw(st.sampled_from([None, *ThreadPolicy]))
    size = draw(st.sampled_from([None, -1, -2, -3, 4, 2048]))
    cells, first = [], 0
    for at in range(draw(st.integers(1, 3))):
        pins = draw(st.integers(1, 4)) if policy in (CpuPolicy.DEDICATED, CpuPolicy.MIXED) else 0
        floats = 0 if policy is CpuPolicy.DEDICATED else draw(st.integers(1, 3))
        pinned, first = frozenset(range(first, first + pins)), first + pins
        shared, first = frozenset(range(first, first + floats)), first + floats
        memory = draw(st.sampled_from([2, 511, 512, 1024]))
        cells.append(InstanceNUMACell(at, shared, pinned, memory, size, policy, threads))
    emulator = (
        draw(st.sampled_from([None, *EmulatorThreads])) if policy in (CpuPolicy.DEDICATED, CpuPolicy.MIXED) else None
    )
    return GuestTopology(tuple(cells), emulator)


pools = st.lists(
    st.builds(
        PciPool,
        st.just("8086"),
        st.just("1572"),
        st.sampled_from(["type-PCI", "type-PF", "type-VF"]),
        st.sampled_from([None, 0, 1, 2]),
        st.integers(0, 3),
        st.sampled_from(["", "0000:0a:00.0"]),
    ),
    max_size=4,
).map(tuple)
requests = st.lists(
    st.builds(
        PciRequest,
        st.integers(1, 2),
        st.sampled_from([((("vendor_id", "8086"),),), ((("dev_type", "type-PF"),),)]),
        st.just("nic"),
        st.sampled_from([None, *NumaPolicy]),
    ),
    max_size=2,
).map(tuple)
needs = st.builds(
    FitNeeds,
    st.sampled_from([None, Limits(1.0, 1.0), Limits(4.0, 1.5)]),
    requests,
    st.one_of(st.none(), pools),
    st.builds(NetworkNeeds, st.frozensets(st.sampled_from("ab"), max_size=1), st.just(False)),
    st.booleans(),
)


@given(hosts(), guests(), needs)
def test_claim_then_free_is_the_identity(host: HostTopology, guest: GuestTopology, wants: FitNeeds) -> None:
    placed = fit(host, guest, wants)
    if isinstance(placed, GuestTopology):
        assert free(claim(host, placed), placed) == host


@given(hosts(), guests(), needs)
def test_no_cpu_is_used_twice(host: HostTopology, guest: GuestTopology, wants: FitNeeds) -> None:
    placed = fit(host, guest, wants)
    if not isinstance(placed, GuestTopology):
        return
    assert len({cell.host_cell for cell in placed.cells}) == len(guest)
    for cell in placed.cells:
        home = host.cell(cell.host_cell if cell.host_cell is not None else -1)
        assert home is not None
        cpus = [cpu for _, cpu in cell.pinning] + sorted(cell.reserved)
        assert len(set(cpus)) == len(cpus)
        assert set(cpus) <= home.free_pcpus
        assert {vcpu for vcpu, _ in cell.pinning} == cell.pcpuset


@given(hosts(), guests(), needs)
def test_emulator_threads_have_one_cpu_by_the_first_cell(
    host: HostTopology, guest: GuestTopology, wants: FitNeeds
) -> None:
    placed = fit(host, guest, wants)
    if isinstance(placed, GuestTopology):
        expected = [int(guest.emulator_threads_isolated), *[0] * (len(guest) - 1)]
        assert [len(cell.reserved) for cell in placed.cells] == expected


@given(hosts(), guests(), needs)
def test_no_cell_gives_more_than_it_has(host: HostTopology, guest: GuestTopology, wants: FitNeeds) -> None:
    placed = fit(host, guest, wants)
    if not isinstance(placed, GuestTopology):
        return
    after = claim(host, placed)
    for part in placed.cells:
        at = next(at for at, cell in enumerate(host.cells) if cell.id == part.host_cell)
        before, now = host.cells[at], after.cells[at]
        assert part.memory_mib <= before.memory_mib
        if part.is_pinned and not before.mempages:
            assert now.memory_used_mib <= now.memory_mib
        for pages in now.mempages:
            if pages.size_kib == part.page_size or part.is_pinned:
                assert pages.used == next(old.used for old in before.mempages if old.size_kib == pages.size_kib) or (
                    pages.used + pages.reserved <= pages.total
                )


@given(hosts(), guests())
def test_isolated_guests_share_no_core(host: HostTopology, guest: GuestTopology) -> None:
    placed = fit(host, guest)
    if not isinstance(placed, GuestTopology) or guest.thread_policy is not ThreadPolicy.ISOLATE:
        return
    for part in placed.cells:
        cell = next(each for each in host.cells if each.id == part.host_cell)
        for core in cell.siblings:
            assert len(core & part.host_cpus) <= 1
            assert not (core & part.host_cpus and core & cell.pinned_cpus)


@given(hosts(), guests())
def test_required_siblings_are_never_alone(host: HostTopology, guest: GuestTopology) -> None:
    placed = fit(host, guest)
    if not isinstance(placed, GuestTopology) or guest.thread_policy is not ThreadPolicy.REQUIRE:
        return
    for part in placed.cells:
        cell = next(each for each in host.cells if each.id == part.host_cell)
        cores = [len(core & {cpu for _, cpu in part.pinning}) for core in cell.siblings]
        # Of an odd number of vCPUs the last one may have the rest of its core to itself.
        assert sum(count == 1 for count in cores) <= 1


@settings(max_examples=150)
@given(hosts(), guests(), needs)
def test_feasibility_agrees_with_trying_everything(host: HostTopology, guest: GuestTopology, wants: FitNeeds) -> None:
    assert isinstance(fit(host, guest, wants), GuestTopology) == try_everything(host, guest, wants)


def try_everything(host: HostTopology, guest: GuestTopology, wants: FitNeeds) -> bool:
    """All permutations of host cells, each judged whole."""
    reserve = [int(guest.emulator_threads_isolated), *[0] * (len(guest) - 1)]
    for chosen in permutations(host.cells, len(guest)):
        pairs = zip(chosen, guest.cells, reserve, strict=True)
        if not all(
            isinstance(fit_cell(cell, part, wants.limits, count), InstanceNUMACell) for cell, part, count in pairs
        ):
            continue
        ids = frozenset(cell.id for cell in chosen)
        place = NumaPlace(ids, host.sockets)
        if wants.pools is not None and wants.pci_requests and refuse_pci(wants.pools, wants.pci_requests, place):
            continue
        if refuse_far_networks(host, ids, wants.networks) is None:
            return True
    return False


@given(host_cells(0), st.integers(1, 8), st.integers(0, 1))
def test_pinning_without_policy_needs_only_free_cpus(cell: NUMACell, vcpus: int, reserve: int) -> None:
    part = InstanceNUMACell(0, frozenset(), frozenset(range(vcpus)), 0, None, CpuPolicy.DEDICATED)
    found = fit_cell(cell, part, reserve=reserve)
    has_memory = all(pages.free >= 0 for pages in cell.mempages[:1])
    assert isinstance(found, InstanceNUMACell) == (vcpus + reserve <= cell.avail_pcpus and has_memory)


@given(hosts(), guests(), needs)
def test_topologies_survive_their_rows(host: HostTopology, guest: GuestTopology, wants: FitNeeds) -> None:
    assert host_from_dict(host_to_dict(host)) == host
    placed = fit(host, guest, wants)
    if isinstance(placed, GuestTopology):
        assert guest_from_dict(guest_to_dict(placed)) == placed


@given(pools, requests, st.frozensets(st.integers(0, 2)))
def test_devices_claimed_then_freed_are_the_same(
    free_pools: tuple[PciPool, ...], wanted: tuple[PciRequest, ...], cells: frozenset[int]
) -> None:
    found = consume(free_pools, wanted, NumaPlace(cells, {0: 0, 1: 0, 2: 1}))
    if hasattr(found, "given"):
        after = take(free_pools, found)
        assert min((pool.count for pool in after), default=0) >= 0
        assert found.count == sum(each.count for each in wanted)
        assert give_back(after, found) == free_pools


@settings(max_examples=50)
@given(st.lists(st.tuples(hosts(), pools, st.sampled_from([1.0, 4.0])), min_size=1, max_size=4), requests, st.data())
def test_filter_over_columns_agrees_with_the_fit_of_each_host(
    seen: list[tuple[HostTopology, tuple[PciPool, ...], float]], wanted: tuple[PciRequest, ...], data: st.DataObject
) -> None:
    specs = data.draw(st.sampled_from(SPECS))
    rows = [
        worlds.host(
            f"host-{at}",
            numa_topology=host_to_dict(topology),
            pci_pools=pools_to_list(devices),
            vcpu=InventoryRow(8, allocation_ratio=ratio),
        )
        for at, (topology, devices, ratio) in enumerate(seen)
    ]
    asked = worlds.request(flavor=worlds.flavor(vcpus=2, memory_mib=1024, extra_specs=specs), pci_requests=wanted)
    refused = worlds.refused(NUMATopologyFilter(), worlds.table(*rows), asked)
    guest = guest_topology(asked.flavor, asked.image)
    assert guest is not None
    for at, (topology, devices, ratio) in enumerate(seen):
        found = fit(topology, guest, FitNeeds(Limits(ratio, 1.0), wanted, devices if wanted else ()))
        assert (f"host-{at}" in refused) == isinstance(found, Refusal)
        if isinstance(found, Refusal):
            assert refused[f"host-{at}"].sentence() == found.sentence()


SPECS = [
    {"hw:cpu_policy": "dedicated"},
    {"hw:cpu_policy": "dedicated", "hw:cpu_thread_policy": "isolate"},
    {"hw:numa_nodes": "2"},
    {"hw:numa_nodes": "2", "hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": "0"},
    {"hw:mem_page_size": "2MB"},
]
