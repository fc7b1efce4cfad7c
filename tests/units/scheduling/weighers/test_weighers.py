import pytest

from scheduling.engine import InventoryRow
from scheduling.weighers.build_failure import BuildFailureWeigher
from scheduling.weighers.cpu import CPUWeigher
from scheduling.weighers.disk import DiskWeigher
from scheduling.weighers.hypervisor_version import HypervisorVersionWeigher
from scheduling.weighers.io_ops import IoOpsWeigher
from scheduling.weighers.num_instances import NumInstancesWeigher
from scheduling.weighers.ram import RAMWeigher
from scheduling.weighers.soft_affinity import ServerGroupSoftAffinityWeigher, ServerGroupSoftAntiAffinityWeigher
from tests.units.scheduling.worlds import chosen, group, host, policy, raw, request, run, table

GROUPED = table(host("a", instances=frozenset({"m1", "m2"})), host("b", instances=frozenset({"m3"})), host("c"))
MEMBERS = ("m1", "m2", "m3")


def test_ram_is_what_is_free_without_overcommit() -> None:
    fleet = table(host("a", ram=InventoryRow(8192, used=1024, reserved=512, allocation_ratio=1.5)))
    assert raw(RAMWeigher(), fleet) == [6656]


def test_cpu_is_what_is_free_after_overcommit() -> None:
    assert raw(CPUWeigher(), table(host("a", vcpu=InventoryRow(16, used=10, allocation_ratio=4.0)))) == [54]


def test_disk_is_the_lesser_of_free_and_least_available() -> None:
    disk = InventoryRow(500, used=100)
    fleet = table(
        host("free", disk=disk),
        host("minimum", disk=disk, disk_available_least_gib=50),
        host("more", disk=disk, disk_available_least_gib=450),
    )
    assert raw(DiskWeigher(), fleet) == [400 * 1024, 50 * 1024, 400 * 1024]


def test_io_ops_counts_what_is_under_way() -> None:
    assert raw(IoOpsWeigher(), table(host("a", num_io_ops=3))) == [3]


def test_num_instances_counts_instances() -> None:
    assert raw(NumInstancesWeigher(), table(host("a", instances=frozenset({"x", "y"})))) == [2]


def test_hypervisor_version_is_nova_s_integer() -> None:
    assert raw(HypervisorVersionWeigher(), table(host("a", hypervisor_version=8002002), host("b"))) == [8002002, 0]


def test_build_failure_counts_failures() -> None:
    assert raw(BuildFailureWeigher(), table(host("a", failed_builds=2))) == [2]


def test_soft_affinity_counts_members() -> None:
    asked = request(group=group("soft-affinity", members=MEMBERS))
    assert raw(ServerGroupSoftAffinityWeigher(), GROUPED, asked) == [2, 1, 0]


def test_soft_anti_affinity_counts_members_negated() -> None:
    asked = request(group=group("soft-anti-affinity", members=MEMBERS))
    assert raw(ServerGroupSoftAntiAffinityWeigher(), GROUPED, asked) == [-2, -1, 0]


@pytest.mark.parametrize("weigher", [ServerGroupSoftAffinityWeigher(), ServerGroupSoftAntiAffinityWeigher()])
def test_soft_rules_ignore_other_policies(weigher: ServerGroupSoftAffinityWeigher) -> None:
    assert raw(weigher, GROUPED, request(group=group("affinity", members=MEMBERS))) == [0, 0, 0]


@pytest.mark.parametrize(
    ("name", "multiplier", "winner"),
    [
        ("RAMWeigher", 1.0, "roomy"),
        ("RAMWeigher", -1.0, "full"),
        ("CPUWeigher", None, "roomy"),
        ("DiskWeigher", None, "roomy"),
        ("IoOpsWeigher", None, "roomy"),
        ("IoOpsWeigher", 1.0, "full"),
        ("NumInstancesWeigher", 1.0, "full"),
        ("NumInstancesWeigher", -1.0, "roomy"),
        ("HypervisorVersionWeigher", None, "full"),
        ("BuildFailureWeigher", None, "roomy"),
        ("BuildFailureWeigher", -1.0, "full"),
    ],
)
def test_multiplier_gives_the_direction(name: str, multiplier: float | None, winner: str) -> None:
    full = host(
        "full",
        vcpu=InventoryRow(16, used=8),
        ram=InventoryRow(32768, used=16384),
        disk=InventoryRow(500, used=400),
        num_io_ops=4,
        num_instances=4,
        hypervisor_version=9000000,
        failed_builds=1,
    )
    trace = run(table(full, host("roomy", hypervisor_version=8)), request(), policy(weighers={name: multiplier}))
    assert chosen(trace) == [winner]


def test_soft_affinity_packs_and_soft_anti_affinity_spreads() -> None:
    weighers = {"ServerGroupSoftAffinityWeigher": None, "ServerGroupSoftAntiAffinityWeigher": None}
    together = run(GROUPED, request(group=group("soft-affinity", members=MEMBERS)), policy(weighers=weighers))
    apart = run(GROUPED, request(group=group("soft-anti-affinity", members=MEMBERS)), policy(weighers=weighers))
    assert (chosen(together), chosen(apart)) == (["a"], ["c"])
