"""Random fleets and requests, small in their words so that rules meet often."""

from hypothesis import strategies as st

from scheduling.engine import (
    AggregateRow,
    FlavorSnapshot,
    GroupSnapshot,
    HostRow,
    ImageSnapshot,
    InventoryRow,
    ScheduleRequest,
)

INSTANCES = [f"i{at}" for at in range(12)]
NAMES = [f"h{at}" for at in range(8)]
TRAITS = ["HW_A", "HW_B", "HW_C"]
TRIPLES = [("x86_64", "qemu", "hvm"), ("x86_64", "kvm", "hvm"), ("aarch64", "qemu", "hvm")]


@st.composite
def inventories(draw: st.DrawFn) -> dict[str, InventoryRow]:
    def one(total: int) -> InventoryRow:
        ratio = draw(st.sampled_from([1.0, 1.5, 4.0]))
        return InventoryRow(total, draw(st.integers(0, total)), draw(st.integers(0, total // 4)), ratio)

    return {"VCPU": one(16), "MEMORY_MB": one(16384), "DISK_GB": one(200)}


@st.composite
def host_rows(draw: st.DrawFn) -> list[HostRow]:
    names = draw(st.lists(st.sampled_from(NAMES), unique=True, min_size=1))
    homes = draw(st.lists(st.sampled_from(names), min_size=len(INSTANCES), max_size=len(INSTANCES)))
    return [
        HostRow(
            host=name,
            nodename=f"{name}.lab",
            uuid=f"uuid-{name}",
            cell_uuid=draw(st.sampled_from(["c1", "c2"])),
            inventories=draw(inventories()),
            enabled=draw(st.integers(0, 5)) > 0,
            up=draw(st.integers(0, 5)) > 0,
            disk_available_least_gib=draw(st.none() | st.integers(-10, 200)),
            num_io_ops=draw(st.integers(0, 9)),
            failed_builds=draw(st.integers(0, 2)),
            hypervisor_type=draw(st.sampled_from(["QEMU", "KVM"])),
            hypervisor_version=draw(st.sampled_from([0, 8002002, 9000000])),
            traits=frozenset(draw(st.lists(st.sampled_from(TRAITS)))),
            instances=frozenset(uuid for uuid, home in zip(INSTANCES, homes, strict=True) if home == name),
            supported_instances=tuple(draw(st.lists(st.sampled_from(TRIPLES), unique=True))),
            cpu_info={"vendor": draw(st.sampled_from(["AMD", "Intel"]))},
        )
        for name in names
    ]


METADATA = st.fixed_dictionaries(
    {},
    optional={
        "availability_zone": st.sampled_from(["az1", "az2"]),
        "ssd": st.sampled_from(["true", "false", "true, false"]),
        "filter_tenant_id": st.sampled_from(["p1", "p2", "p1,p2"]),
        "ram_weight_multiplier": st.sampled_from(["2", "-1"]),
        "build_failure_weight_multiplier": st.just("0"),
    },
)
AGGREGATES = st.lists(
    st.builds(
        lambda hosts, metadata: (frozenset(hosts), metadata), st.lists(st.sampled_from(NAMES), unique=True), METADATA
    ),
    max_size=4,
).map(lambda each: [AggregateRow(f"agg{at}", f"agg{at}", *one) for at, one in enumerate(each)])

SPECS = st.fixed_dictionaries(
    {},
    optional={
        "trait:HW_A": st.sampled_from(["required", "forbidden"]),
        "ssd": st.sampled_from(["true", "<or> true <or> false"]),
        "aggregate_instance_extra_specs:ssd": st.just("false"),
        "capabilities:hypervisor_version": st.sampled_from([">= 8000000", "== 9000000"]),
        "capabilities:cpu_info:vendor": st.sampled_from(["AMD", "s!= AMD"]),
        "resources:VCPU": st.integers(0, 5).map(str),
    },
)
PROPERTIES = st.fixed_dictionaries(
    {},
    optional={
        "hw_architecture": st.sampled_from(["x86_64", "aarch64"]),
        "img_hv_type": st.sampled_from(["qemu", "kvm"]),
    },
)
HINTS = st.fixed_dictionaries(
    {},
    optional={
        "same_host": st.lists(st.sampled_from(INSTANCES), min_size=1, max_size=3).map(tuple),
        "different_host": st.lists(st.sampled_from(INSTANCES), min_size=1, max_size=2).map(tuple),
    },
)
GROUPS = st.none() | st.builds(
    GroupSnapshot,
    uuid=st.just("g"),
    policy=st.sampled_from(["affinity", "anti-affinity", "soft-affinity", "soft-anti-affinity"]),
    rules=st.sampled_from([{}, {"max_server_per_host": 2}]),
    members=st.lists(st.sampled_from(INSTANCES), unique=True, max_size=5).map(tuple),
    hosts=st.lists(st.sampled_from(NAMES), unique=True, max_size=2).map(tuple),
)

FLAVORS = st.builds(
    FlavorSnapshot,
    id=st.just("1"),
    name=st.just("m1"),
    vcpus=st.integers(1, 8),
    memory_mib=st.integers(1, 8192),
    root_gib=st.integers(0, 60),
    swap_mib=st.sampled_from([0, 512]),
    extra_specs=st.one_of(st.just({}), SPECS),
)


@st.composite
def requests(draw: st.DrawFn) -> ScheduleRequest:
    count = draw(st.integers(1, 5))
    return ScheduleRequest(
        "req",
        draw(st.sampled_from(["p1", "p2", "p3"])),
        "user",
        tuple(f"new{at}" for at in range(count)),
        draw(FLAVORS),
        ImageSnapshot("i", "i", draw(st.one_of(st.just({}), PROPERTIES))),
        availability_zone=draw(st.none() | st.sampled_from(["az1", "nova"])),
        hints=draw(st.one_of(st.just({}), HINTS)),
        group=draw(GROUPS),
        num_alternates=draw(st.integers(0, 3)),
        min_count=draw(st.none() | st.just(1)),
    )
