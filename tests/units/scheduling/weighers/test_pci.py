from typing import Any

import pytest

from controlplane.kernel.errors import Invalid
from scheduling.engine import validate_policy
from scheduling.weighers.pci import PCIWeigher
from tests.units.scheduling.worlds import chosen, host, policy, raw, request, run, table


def pools(*counts: int) -> list[dict[str, Any]]:
    return [
        {"vendor_id": "8086", "product_id": "1528", "dev_type": "type-VF", "numa_node": at, "count": count}
        for at, count in enumerate(counts)
    ]


def test_pci_counts_all_pools_of_a_host() -> None:
    assert raw(PCIWeigher(), table(host("a", pci_pools=pools(3, 4)))) == [93]


def test_pci_is_a_hundred_less_the_free_devices() -> None:
    assert raw(PCIWeigher(), table(host("a"), host("b", pci_pools=pools(3)))) == [100, 97]


def test_pci_hosts_with_very_many_devices_are_alike() -> None:
    fleet = table(host("a", pci_pools=pools(99)), host("b", pci_pools=pools(100)), host("c", pci_pools=pools(2000)))
    assert raw(PCIWeigher(), fleet) == [1, 1, 1]


def test_pci_hosts_are_kept_for_others() -> None:
    fleet = table(host("rich", pci_pools=pools(8)), host("some", pci_pools=pools(1)), host("zero"))
    assert chosen(run(fleet, request(), policy(weighers={"PCIWeigher": None}))) == ["zero"]


@pytest.mark.parametrize("name", ["PCIWeigher", "ServerGroupSoftAffinityWeigher", "ServerGroupSoftAntiAffinityWeigher"])
def test_multiplier_below_zero_is_not_allowed(name: str) -> None:
    with pytest.raises(Invalid) as caught:
        validate_policy(policy(weighers={name: -0.5}))
    assert caught.value.field == f"weighers.{name}"


@pytest.mark.parametrize("multiplier", [None, 0.0, 2.5])
def test_multiplier_of_zero_or_more_is_allowed(multiplier: float | None) -> None:
    validate_policy(policy(weighers={"PCIWeigher": multiplier}))
