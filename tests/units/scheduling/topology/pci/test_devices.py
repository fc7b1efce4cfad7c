"""Section 5.7: devices with their states."""

from typing import Any

from computeagent.protocol.pci import DeviceState, PciDeviceRecord
from controlplane.kernel.reasons import Refusal, RefusalReason
from scheduling.topology.domain.pci.asked import PciRequest
from scheduling.topology.domain.pci.devices import Devices, allocate, claim, free, pools_of

CARD = "0000:0a:00.0"


def device(address: str = CARD, kind: str = "type-PCI", **changes: Any) -> PciDeviceRecord:
    return PciDeviceRecord(address, "8086", "1572", kind, **changes)


def test_like_devices_of_a_card_make_one_pool() -> None:
    functions = tuple(device(f"0000:0a:02.{at}", "type-VF", parent_address=CARD) for at in range(3))
    found = pools_of((*functions, device("0000:0b:00.0", "type-VF", parent_address="0000:0b:00.1")))
    assert [(pool.address, pool.count) for pool in found] == [(CARD, 3), ("0000:0b:00.1", 1)]


def test_network_functions_are_not_remote_managed_unless_said() -> None:
    assert dict(pools_of([device(kind="type-VF")])[0].tags) == {"remote_managed": "false"}
    assert pools_of([device()])[0].tags == ()


def test_placement_tags_are_not_part_of_a_pool() -> None:
    assert pools_of([device(tags=(("resource_class", "NIC"), ("traits", "A")))])[0].tags == ()


def nic() -> Devices:
    functions = (device(f"0000:0a:02.{at}", "type-VF", parent_address=CARD) for at in range(2))
    return (device(CARD, "type-PF"), *functions)


def states(found: Devices | Refusal) -> list[str]:
    assert not isinstance(found, Refusal), found
    return [each.state.value for each in found]


def asks(count: int = 1, kind: str = "type-VF") -> list[PciRequest]:
    return [PciRequest(count, ((("dev_type", kind),),))]


def test_claimed_function_makes_its_card_unclaimable() -> None:
    assert states(claim(nic(), asks(), "guest")) == ["unclaimable", "claimed", "available"]


def test_allocated_function_makes_its_card_unavailable() -> None:
    claimed = claim(nic(), asks(), "guest")
    assert not isinstance(claimed, Refusal)
    assert states(allocate(claimed, "guest")) == ["unavailable", "allocated", "available"]


def test_claimed_card_makes_its_functions_unclaimable() -> None:
    assert states(claim(nic(), asks(kind="type-PF"), "guest")) == ["claimed", "unclaimable", "unclaimable"]


def test_card_is_free_again_only_after_its_last_function() -> None:
    found: Any = nic()
    for owner in ("one", "two"):
        found = claim(found, asks(), owner)
    found = free(found, "one")
    assert states(found) == ["unclaimable", "available", "claimed"]
    assert free(found, "two") == nic()


def test_devices_in_use_are_in_no_pool() -> None:
    found = claim(nic(), asks(2), "guest")
    assert not isinstance(found, Refusal)
    assert pools_of(found) == ()


def test_claim_of_too_many_is_refused_with_numbers() -> None:
    found = claim(nic(), asks(3), "guest")
    assert isinstance(found, Refusal)
    assert (found.reason, found.wanted, found.available) == (RefusalReason.PCI_SHORT, 3, 2)


def test_device_that_left_the_host_is_deleted_when_given_back() -> None:
    gone = (device(state=DeviceState.REMOVED, owner="guest"),)
    assert states(free(gone, "guest")) == ["deleted"]
