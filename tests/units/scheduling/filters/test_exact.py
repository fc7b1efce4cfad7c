import pytest

from controlplane.kernel.reasons import RefusalReason
from scheduling.domain.hosts.host_rows import InventoryRow
from scheduling.filters.exact import ExactCoreFilter, ExactDiskFilter, ExactRamFilter
from tests.units.scheduling.worlds import flavor, host, policy, refused, request, run, table

FLEET = table(
    host(
        "a",
        vcpu=InventoryRow(8, used=2, allocation_ratio=4.0),
        ram=InventoryRow(1000, used=100, reserved=100, allocation_ratio=1.5),
        disk=InventoryRow(50, used=10),
    )
)


@pytest.mark.parametrize(("memory", "passes"), [(800, True), (799, False), (801, False)])
def test_exact_ram_wants_all_that_is_free(memory: int, passes: bool) -> None:
    assert (refused(ExactRamFilter(), FLEET, request(flavor=flavor(memory_mib=memory))) == {}) is passes


@pytest.mark.parametrize(("vcpus", "passes"), [(6, True), (5, False), (8, False)])
def test_exact_core_wants_all_that_is_free(vcpus: int, passes: bool) -> None:
    assert (refused(ExactCoreFilter(), FLEET, request(flavor=flavor(vcpus=vcpus))) == {}) is passes


def test_exact_core_refuses_a_host_without_vcpus() -> None:
    refusal = refused(ExactCoreFilter(), table(host("a", vcpu=InventoryRow(0))), request(flavor=flavor(vcpus=0)))["a"]
    assert refusal.reason is RefusalReason.NOT_EXACT


@pytest.mark.parametrize(
    ("root", "ephemeral", "swap", "passes"), [(40, 0, 0, True), (30, 9, 1024, True), (40, 0, 1, False)]
)
def test_exact_disk_wants_all_that_is_free(root: int, ephemeral: int, swap: int, passes: bool) -> None:
    asked = request(flavor=flavor(root_gib=root, ephemeral_gib=ephemeral, swap_mib=swap))
    assert (refused(ExactDiskFilter(), FLEET, asked) == {}) is passes


def test_refusal_says_what_is_free() -> None:
    refusal = refused(ExactRamFilter(), FLEET, request(flavor=flavor(memory_mib=700)))["a"]
    assert refusal.sentence() == "wants exactly 700 free, has 800 (MB of memory)"


def test_limits_are_the_totals_without_overcommit() -> None:
    asked = request(flavor=flavor(vcpus=6, memory_mib=800, root_gib=40))
    trace = run(FLEET, asked, policy("ExactRamFilter", "ExactCoreFilter", "ExactDiskFilter"))
    assert trace.selections[0].selected.limits == {"memory_mb": 1000, "vcpu": 8, "disk_gb": 50}
