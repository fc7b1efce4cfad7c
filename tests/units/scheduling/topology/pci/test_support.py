"""Section 5.7: which pools serve a request, in which order, and how near."""

from typing import Any

import pytest

from controlplane.kernel.reasons import Refusal, RefusalReason
from scheduling.topology.domain.pci.asked import PciRequest
from scheduling.topology.domain.pci.codec import pools_from_list, pools_to_list
from scheduling.topology.domain.pci.pool import NumaPolicy, PciPool, free
from scheduling.topology.domain.pci.support import ANYWHERE, NumaPlace, claim, consume

NEAR = NumaPlace(frozenset({0}), {0: 0, 1: 0, 2: 1})


def pool(count: int = 1, node: int | None = 0, kind: str = "type-PCI", **changes: Any) -> PciPool:
    tags = tuple(sorted(changes.pop("tags", {}).items()))
    return PciPool("8086", "1572", kind, node, count, tags=tags, **changes)


def asks(count: int = 1, policy: NumaPolicy | None = None, **spec: str) -> PciRequest:
    return PciRequest(count, (tuple(sorted({"vendor_id": "8086", **spec}.items())),), "nic", policy, "req")


def taken(
    pools: tuple[PciPool, ...], *requests: PciRequest, place: NumaPlace = ANYWHERE, **more: Any
) -> dict[int, int]:
    found = consume(pools, requests, place, **more)
    assert not isinstance(found, Refusal), found
    return dict(found.given)


def refusal(pools: tuple[PciPool, ...], *requests: PciRequest, place: NumaPlace = ANYWHERE, **more: Any) -> Refusal:
    found = consume(pools, requests, place, **more)
    assert isinstance(found, Refusal)
    return found


def test_request_takes_from_pools_that_match() -> None:
    other = PciPool("10de", "1eb8", "type-PCI", 0, 9)
    assert taken((other, pool(2)), asks(2)) == {1: 2}


def test_request_takes_from_several_pools() -> None:
    assert taken((pool(1), pool(3)), asks(3)) == {0: 1, 1: 2}


def test_too_few_devices_are_said_with_numbers() -> None:
    found = refusal((pool(1),), asks(2))
    assert (found.reason, found.wanted, found.available) == (RefusalReason.PCI_SHORT, 2, 1)
    assert found.sentence() == "wants 2 PCI devices, 1 free (nic)"


def test_requests_do_not_get_the_same_device() -> None:
    assert refusal((pool(1),), asks(), asks()).reason is RefusalReason.PCI_SHORT


def test_any_of_the_alternatives_will_do() -> None:
    both = PciRequest(1, ((("vendor_id", "10de"),), (("vendor_id", "8086"),)))
    assert taken((pool(),), both) == {0: 1}


def test_tags_are_compared_whatever_the_case() -> None:
    fast = pool(tags={"physical_network": "Fast"})
    assert taken((fast,), asks(physical_network="fast")) == {0: 1}
    assert refusal((fast,), asks(physical_network="slow")).available == 0


def test_pools_with_fewer_tags_come_first() -> None:
    assert taken((pool(tags={"trusted": "true"}), pool()), asks()) == {1: 1}


def test_placement_keys_are_not_compared() -> None:
    assert taken((pool(),), asks(resource_class="CUSTOM_NIC", traits="A,B")) == {0: 1}


@pytest.mark.parametrize("kind", ["type-PF", "vdpa"])
def test_special_types_are_not_given_unasked(kind: str) -> None:
    assert refusal((pool(kind=kind),), asks()).reason is RefusalReason.PCI_SHORT
    assert taken((pool(kind=kind),), asks(dev_type=kind)) == {0: 1}


def test_remote_managed_devices_are_not_given_unasked() -> None:
    remote = pool(kind="type-VF", tags={"remote_managed": "true"})
    assert refusal((remote,), asks()).reason is RefusalReason.PCI_SHORT
    assert taken((remote,), asks(remote_managed="true")) == {0: 1}


@pytest.mark.parametrize(("wish", "at"), [("true", 0), ("false", 1)])
def test_live_migratable_is_matched_to_the_letter(wish: str, at: int) -> None:
    pools = (pool(tags={"live_migratable": "true"}), pool(tags={"live_migratable": "false"}), pool())
    assert taken(pools, asks(live_migratable=wish)) == {at: 1}


def test_providers_that_placement_chose_are_followed() -> None:
    pools = (pool(2, provider="a"), pool(2, provider="b"), pool(2))
    assert taken(pools, asks(2), providers={"req": ("b", "b")}) == {1: 2}
    assert taken(pools, asks(2), providers={"req": ("a", "b")}) == {0: 1, 1: 1}


def test_provider_without_enough_devices_is_refused() -> None:
    assert refusal((pool(1, provider="a"),), asks(2), providers={"req": ("a", "a")}).available == 0


P = NumaPolicy


@pytest.mark.parametrize(
    ("policy", "node", "fits"),
    [
        (P.REQUIRED, 0, True),
        (P.REQUIRED, 1, False),
        (P.REQUIRED, None, False),
        (P.LEGACY, 0, True),
        (P.LEGACY, 1, False),
        (P.LEGACY, None, True),
        (None, 1, False),
        (None, None, True),
        (P.PREFERRED, 0, True),
        (P.PREFERRED, 2, True),
        (P.PREFERRED, None, True),
        (P.SOCKET, 0, True),
        (P.SOCKET, 1, True),
        (P.SOCKET, 2, False),
        (P.SOCKET, None, False),
    ],
)
def test_numa_policy_decides_what_is_near(policy: NumaPolicy | None, node: int | None, fits: bool) -> None:
    found = consume((pool(node=node),), [asks(policy=policy)], NEAR)
    assert isinstance(found, Refusal) is not fits
    if isinstance(found, Refusal):
        assert (found.reason, found.available) == (RefusalReason.PCI_NUMA_FAR, 0)


def test_guest_without_cells_takes_devices_anywhere() -> None:
    assert taken((pool(node=2),), asks(policy=P.REQUIRED)) == {0: 1}


def test_socket_policy_needs_every_socket_known() -> None:
    place = NumaPlace(frozenset({0}), {0: 0, 1: None})
    assert refusal((pool(node=1),), asks(policy=P.SOCKET), place=place).available == 0


@pytest.mark.parametrize("policy", [P.PREFERRED, P.LEGACY, P.SOCKET])
def test_near_devices_are_taken_first(policy: NumaPolicy) -> None:
    assert taken((pool(node=None), pool(node=1), pool(node=0)), asks(policy=policy), place=NEAR) == {2: 1}


def test_preferred_takes_far_devices_after_near_ones() -> None:
    assert taken((pool(node=2), pool(node=0)), asks(2, P.PREFERRED), place=NEAR) == {0: 1, 1: 1}


def test_cards_that_are_not_for_the_asking_do_not_count_as_near() -> None:
    pools = (pool(node=0, kind="type-PF"), pool(node=2, kind="type-VF"))
    assert taken(pools, asks(policy=P.PREFERRED), place=NEAR) == {1: 1}


def test_card_takes_its_functions_along() -> None:
    pools = (pool(1, kind="type-PF", address="0000:0a:00.0"), pool(4, kind="type-VF", address="0000:0a:00.0"))
    found = consume(pools, [asks(dev_type="type-PF")])
    assert not isinstance(found, Refusal)
    assert [each.count for each in claim(pools, found)] == [0, 0]


def test_function_keeps_its_card_from_others() -> None:
    pools = (pool(1, kind="type-PF", address="0000:0a:00.0"), pool(4, kind="type-VF", address="0000:0a:00.0"))
    found = consume(pools, [asks()])
    assert not isinstance(found, Refusal)
    assert [each.count for each in claim(pools, found)] == [0, 3]
    assert free(claim(pools, found), found) == pools


def test_pools_survive_json() -> None:
    pools = (pool(2, None), pool(1, 0, "type-VF", address="0000:0a:00.0", provider="p", tags={"trusted": "true"}))
    assert pools_from_list(pools_to_list(pools)) == pools
