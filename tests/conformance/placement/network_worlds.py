"""The two larger families of worlds: NUMA nodes with network devices, and hosts on networks of several segments."""

from tests.conformance.placement.shapes import Holding, Node, Stock, World, node

EGRESS = "NET_BW_EGR_KILOBIT_PER_SEC"
INGRESS = "NET_BW_IGR_KILOBIT_PER_SEC"


def _pf(suffix: str, physnet: int, functions: int) -> Node:
    return node(f"pf{suffix}", f"PF{suffix}_UUID", {"CUSTOM_VF": functions}, traits=f"CUSTOM_PHYSNET{physnet}")


def _nic(index: int, *devices: Node) -> Node:
    return node(f"nic{index}", f"NIC{index}_UUID", {}, *devices, traits="CUSTOM_HW_NIC_ROOT")


def _segment(name: str, physnet: int, egress: int) -> Node:
    return node(name, f"{name.upper()}_UUID", {EGRESS: egress}, traits=f"CUSTOM_PHYSNET{physnet}")


SHARED_DISK = node(
    "ss1", "SS1_UUID", {"DISK_GB": 2000}, traits="MISC_SHARES_VIA_AGGREGATE", aggregates="AGGA_UUID"
)  # fmt: skip

# All it has is in its children: two unlike NUMA nodes with accelerators, and two agents with network devices.
HOST_OF_PARTS = node(
    "cn1", "CN1_UUID", {},
    node(
        "numa0", "NUMA0_UUID", {"VCPU": 4, "MEMORY_MB": Stock(2048, min_unit=512, step_size=256)},
        node("fpga0", "FPGA0_UUID", {"FPGA": 1}),
        node("pgpu0", "PGPU0_UUID", {"VGPU": 8}),
        traits="HW_NUMA_ROOT",
    ),
    node(
        "numa1", "NUMA1_UUID", {"VCPU": 4, "MEMORY_MB": Stock(2048, min_unit=256, max_unit=1024)},
        node("fpga1_0", "FPGA1_0_UUID", {"FPGA": 1}),
        node("fpga1_1", "FPGA1_1_UUID", {"FPGA": 1}),
        traits="HW_NUMA_ROOT CUSTOM_FOO",
    ),
    node(
        "sriov_agent", "SRIOV_AGENT_UUID", {}, _segment("esn1", 1, 10000), _segment("esn2", 2, 20000),
        traits="CUSTOM_VNIC_TYPE_DIRECT",
    ),
    node(
        "ovs_agent", "OVS_AGENT_UUID", {}, _segment("br_int", 0, 1000),
        traits="CUSTOM_VNIC_TYPE_NORMAL",
    ),
    traits="COMPUTE_VOLUME_MULTI_ATTACH", aggregates="AGGA_UUID",
)  # fmt: skip

# Has everything itself but its virtual functions, which are on three cards.
HOST_WITH_CARDS = node(
    "cn2", "CN2_UUID",
    {"VCPU": 8, "MEMORY_MB": Stock(2048, min_unit=1024, step_size=128), "DISK_GB": 1000},
    _nic(1, _pf("1_1", 1, 4), _pf("1_2", 2, 4)),
    _nic(2, _pf("2_1", 1, 2), _pf("2_2", 2, 2), _pf("2_3", 1, 2), _pf("2_4", 2, 2)),
    _nic(3, _pf("3_1", 1, 8)),
    traits="CUSTOM_FOO", aggregates="AGGA_UUID",
)  # fmt: skip

NETWORK_HOLDINGS = (
    Holding("NUMA0_CONSUMER", "NUMA0_UUID", {"VCPU": 2}, "numafx-project", "numafx-user"),
    Holding("CN2_CONSUMER", "CN2_UUID", {"VCPU": 3}, "numafx-project", "numafx-user"),
)

NUMA_NETWORK = World(trees=(SHARED_DISK, HOST_OF_PARTS, HOST_WITH_CARDS), holdings=NETWORK_HOLDINGS)

# The same two hosts, two levels further down in one tree whose upper providers have nothing.
NUMA_NETWORK_DEEP = World(
    trees=(
        node(
            "gp1", "GP1_UUID", {},
            node("p1", "P1_UUID", {}, HOST_OF_PARTS),
            node("p2", "P2_UUID", {}, HOST_WITH_CARDS),
        ),
        SHARED_DISK,
    ),
    holdings=NETWORK_HOLDINGS,
)  # fmt: skip


DIRECT_TRAITS = "CUSTOM_VNIC_TYPE_DIRECT CUSTOM_VNIC_TYPE_DIRECT_PHYSICAL CUSTOM_VNIC_TYPE_MACVTAP"


def _bandwidth(name: str, variable: str, kilobit: int, traits: str, segment: str) -> Node:
    return node(name, variable, {EGRESS: kilobit, INGRESS: kilobit}, traits=f"{traits} CUSTOM_PHYSNET_{segment}")


def _networked_host(host: str, segments: tuple[str, ...], bridge_kilobit: int, device_kilobit: int) -> Node:
    """A host with a software switch and a card for each kind, one bridge and one function for each segment."""
    switch, card = f"{host}:Open vSwitch agent", f"{host}:NIC Switch agent"
    bridges = (
        _bandwidth(f"{switch}:br-ex{end}", f"{host}:br_ex{end}", bridge_kilobit, "CUSTOM_VNIC_TYPE_NORMAL", segment)
        for segment, end in zip(segments, ("", "2"), strict=False)
    )
    functions = (
        _bandwidth(f"{card}:enp129s0f{index}", f"{host}:pf{index}", device_kilobit, DIRECT_TRAITS, segment)
        for index, segment in enumerate(segments)
    )
    return node(
        host, host, {"VCPU": 8, "MEMORY_MB": 4096, "DISK_GB": 500},
        node(
            switch, f"{host}:ovs_agent", {"NET_PACKET_RATE_KILOPACKET_PER_SEC": 1000}, *bridges,
            traits="CUSTOM_VNIC_TYPE_NORMAL",
        ),
        node(card, f"{host}:sriov_agent", {}, *functions, traits=DIRECT_TRAITS),
    )  # fmt: skip


MULTI_SEGMENT = World(
    trees=(
        _networked_host("compute0", ("OTHER",), 5000, 10000),
        _networked_host("compute1", ("MSN_S1",), 5000, 10000),
        _networked_host("compute2", ("MSN_S2",), 5000, 10000),
        _networked_host("compute3", ("MSN_S1", "MSN_S2"), 1000, 1000),
    )
)
