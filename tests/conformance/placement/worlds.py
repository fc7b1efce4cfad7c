"""The worlds of the suite's fixtures, by the names its files use.

The numbers are facts that the files assert on: which provider has how much of what, which traits, which aggregates
and which tree. Where a file asks for nothing but an empty service, its world is empty.
"""

from tests.conformance.placement.network_worlds import MULTI_SEGMENT, NUMA_NETWORK, NUMA_NETWORK_DEEP
from tests.conformance.placement.shapes import Holding, Node, Stock, World, node

SHARES = "MISC_SHARES_VIA_AGGREGATE"

# Every file may name these, whatever its world: (uuids and names made anew for each file, fixed names).
COMMON_UUIDS = (
    "RP_UUID", "RP_NAME", "RP_UUID1", "RP_NAME1", "RP_UUID2", "RP_NAME2",
    "PROJECT_ID", "PROJECT_ID_ALT", "ADMIN_PROJECT_ID", "SERVICE_PROJECT_ID", "USER_ID", "USER_ID_ALT",
    "INSTANCE_UUID", "MIGRATION_UUID", "CONSUMER_UUID", "PARENT_PROVIDER_UUID", "ALT_PARENT_PROVIDER_UUID",
)  # fmt: skip
COMMON_NAMES = {
    "CUSTOM_RES_CLASS": "CUSTOM_IRON_NFV",
    "CUSTOM_RES_CLASS1": "CUSTOM_IRON_NFV1",
    "CUSTOM_RES_CLASS2": "CUSTOM_IRON_NFV2",
}

EMPTY = World()

ALLOCATIONS = World(
    trees=(
        node(
            "", "RP_UUID",
            {"DISK_GB": Stock(2048, min_unit=10, max_unit=1000, step_size=10), "VCPU": 10},
            name_variable="RP_NAME",
        ),
    ),
    holdings=(
        Holding("CONSUMER_0", "RP_UUID", {"DISK_GB": 1000}, "PROJECT_ID", "USER_ID"),
        Holding("CONSUMER_ID", "RP_UUID", {"VCPU": 6}, "PROJECT_ID", "USER_ID"),
        Holding("ALT_CONSUMER_ID", "RP_UUID", {"DISK_GB": 20, "VCPU": 1}, "PROJECT_ID", "ALT_USER_ID"),
    ),
    fresh_uuids=("ALT_USER_ID", "ALT_RP_UUID", "ALT_RP_NAME"),
)  # fmt: skip

COMPUTE = {"VCPU": Stock(24, ratio=16.0), "MEMORY_MB": Stock(128 * 1024, ratio=1.5)}
SHARED_DISK = {"DISK_GB": Stock(2000, reserved=100)}


def _numa_with_device(host: int, index: int) -> Node:
    suffix = f"{host}_{index}"
    device = node(f"pf{suffix}", f"PF{suffix}_UUID", {"SRIOV_NET_VF": 8})
    return node(f"numa{suffix}", f"NUMA{suffix}_UUID", {}, device)


SHARED_STORAGE = World(
    trees=(
        node(
            "cn1", "CN1_UUID", COMPUTE, _numa_with_device(1, 1), _numa_with_device(1, 2),
            traits="HW_CPU_X86_SSE HW_CPU_X86_SSE2", aggregates="AGG_UUID",
        ),
        node(
            "cn2", "CN2_UUID", COMPUTE | SHARED_DISK, _numa_with_device(2, 1), _numa_with_device(2, 2),
            aggregates="AGG_UUID",
        ),
        node("ss", "SS_UUID", SHARED_DISK, traits=SHARES, aggregates="AGG_UUID"),
        node("ss2", "SS2_UUID", SHARED_DISK, traits=SHARES, aggregates="AGG_UUID"),
    )
)  # fmt: skip


def _numa(name: str, aggregates: str = "") -> Node:
    return node(name, f"{name.upper()}_UUID", {"VCPU": Stock(24, ratio=16.0)}, aggregates=aggregates)


NUMA_AGGREGATES = World(
    trees=(
        node("cn1", "CN1_UUID", {}, _numa("numa1_1", "AGGC_UUID"), _numa("numa1_2"), aggregates="AGGA_UUID"),
        node("cn2", "CN2_UUID", {}, _numa("numa2_1"), _numa("numa2_2"), aggregates="AGGA_UUID AGGB_UUID"),
        node("ss1", "SS1_UUID", SHARED_DISK, traits=SHARES, aggregates="AGGA_UUID"),
        node("ss2", "SS2_UUID", SHARED_DISK, traits=SHARES, aggregates="AGGC_UUID"),
    )
)

LOCAL_STORAGE = World(
    trees=tuple(
        node(f"cn{n}", f"CN{n}_UUID", {"VCPU": 24, "MEMORY_MB": 128 * 1024, "DISK_GB": 2000}) for n in (1, 2, 3)
    ),
    fresh_uuids=("AGGA_UUID", "AGGB_UUID", "AGGC_UUID"),
)

GRANULAR = World(
    trees=(
        node(
            "cn_left", "CN_LEFT",
            {"VCPU": 8, "MEMORY_MB": 4096, "DISK_GB": 500, "VGPU": 8, "SRIOV_NET_VF": 8, "CUSTOM_NET_MBPS": 4000},
            traits="HW_CPU_X86_AVX HW_CPU_X86_AVX2 HW_GPU_API_DXVA HW_NIC_DCB_PFC CUSTOM_FOO", aggregates="AGGA",
        ),
        node(
            "cn_middle", "CN_MIDDLE",
            {"VCPU": 8, "MEMORY_MB": 4096, "SRIOV_NET_VF": 8, "CUSTOM_NET_MBPS": 4000},
            traits="HW_CPU_X86_AVX HW_CPU_X86_AVX2 HW_CPU_X86_SSE HW_NIC_ACCEL_TLS", aggregates="AGGA AGGB",
        ),
        node(
            "cn_right", "CN_RIGHT",
            {"VCPU": 8, "MEMORY_MB": 4096, "DISK_GB": 500, "VGPU": Stock(8, max_unit=2)},
            traits="HW_CPU_X86_MMX HW_GPU_API_DXVA CUSTOM_DISK_SSD", aggregates="AGGB AGGC",
        ),
        node("shr_disk_1", "SHR_DISK_1", {"DISK_GB": 1000}, traits=f"{SHARES} CUSTOM_DISK_SSD", aggregates="AGGA"),
        node("shr_disk_2", "SHR_DISK_2", {"DISK_GB": 1000}, traits=SHARES, aggregates="AGGA AGGB"),
        node("shr_net", "SHR_NET", {"SRIOV_NET_VF": 16, "CUSTOM_NET_MBPS": 40000}, traits=SHARES, aggregates="AGGC"),
    )
)  # fmt: skip

WORLDS: dict[str, World] = {
    "APIFixture": EMPTY,
    "LegacyRBACPolicyFixture": EMPTY,
    "SecureRBACPolicyFixture": EMPTY,
    "OpenPolicyFixture": EMPTY,
    "CORSFixture": EMPTY,
    "AllocationFixture": ALLOCATIONS,
    "SharedStorageFixture": SHARED_STORAGE,
    "NUMAAggregateFixture": NUMA_AGGREGATES,
    "NonSharedStorageFixture": LOCAL_STORAGE,
    "GranularFixture": GRANULAR,
    "NUMANetworkFixture": NUMA_NETWORK,
    "DeepNUMANetworkFixture": NUMA_NETWORK_DEEP,
    "NeutronQoSMultiSegmentFixture": MULTI_SEGMENT,
}
