"""PciPassthroughFilter over a fleet."""

from typing import Any

from controlplane.kernel.reasons import RefusalReason
from scheduling.filters.pci_passthrough import PciPassthroughFilter
from scheduling.filters.registry import filter_get
from scheduling.topology.domain.pci.asked import PciRequest
from tests.units.scheduling.worlds import chosen, host, policy, refused, request, run, table

PCI = PciPassthroughFilter()


def gpu_host(name: str, count: int) -> Any:
    pool = {"vendor_id": "10de", "product_id": "1eb8", "dev_type": "type-PCI", "numa_node": None, "count": count}
    return host(name, pci_pools=[pool])


def asks(count: int, instances: int = 1) -> Any:
    return request(instances, pci_requests=(PciRequest(count, ((("vendor_id", "10de"),),), "gpu"),))


FLEET = table(gpu_host("two", 2), gpu_host("one", 1), host("none"))


def test_filter_is_found_by_name() -> None:
    assert isinstance(filter_get("PciPassthroughFilter"), PciPassthroughFilter)


def test_request_without_devices_passes_everywhere() -> None:
    assert refused(PCI, FLEET, request()) == {}


def test_hosts_with_too_few_devices_are_refused_with_numbers() -> None:
    found = refused(PCI, FLEET, asks(2))
    assert {name: (each.reason, each.wanted, each.available) for name, each in found.items()} == {
        "one": (RefusalReason.PCI_SHORT, 2, 1),
        "none": (RefusalReason.PCI_SHORT, 2, 0),
    }


def test_batch_takes_each_device_once() -> None:
    trace = run(FLEET, asks(1, 3), policy("PciPassthroughFilter"))
    assert sorted(chosen(trace)) == ["one", "two", "two"]


def test_batch_larger_than_the_devices_is_refused() -> None:
    assert run(FLEET, asks(1, 4), policy("PciPassthroughFilter")).selections == ()
