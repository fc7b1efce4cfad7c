"""Section 5.7: requests by alias and by port, and the precedence of NUMA policies."""

from typing import Any

import pytest

from controlplane.kernel.errors import Invalid
from scheduling.topology.domain.pci.alias import parse_aliases
from scheduling.topology.domain.pci.asked import PciRequest
from scheduling.topology.domain.pci.codec import requests_from_list, requests_to_list
from scheduling.topology.domain.pci.pool import NumaPolicy
from scheduling.topology.domain.pci.request import request_of_port, requests_of_flavor
from tests.units.scheduling.topology.numa.topologies import hw_request

ALIASES = parse_aliases(
    [
        {"name": "gpu", "vendor_id": "10de", "product_id": "1eb8", "numa_policy": "preferred"},
        {"name": "nic", "vendor_id": "8086", "product_id": "1572"},
    ]
)


def asked(text: str, **changes: Any) -> tuple[PciRequest, ...]:
    both = hw_request(**changes)
    both.flavor.extra_specs["pci_passthrough:alias"] = text  # type: ignore[index]
    return requests_of_flavor(both.flavor, both.image, ALIASES)


def test_alias_with_count_is_a_request() -> None:
    found = asked("gpu:2, nic:1")
    assert [(each.alias, each.count) for each in found] == [("gpu", 2), ("nic", 1)]


def test_flavor_without_aliases_asks_for_nothing() -> None:
    assert asked("") == ()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("gpu", "name:count"),
        ("gpu:", "whole number"),
        ("gpu:0", "less than 1"),
        ("tpu:1", "no alias 'tpu'"),
        (",", "name"),
    ],
)
def test_wrong_alias_names_the_key(text: str, why: str) -> None:
    with pytest.raises(Invalid, match=why) as caught:
        asked(text)
    assert caught.value.field == "pci_passthrough:alias"


def test_numa_policy_is_the_aliases() -> None:
    assert [each.numa_policy for each in asked("gpu:1,nic:1")] == [NumaPolicy.PREFERRED, NumaPolicy.LEGACY]


def test_numa_policy_of_the_flavor_stands_above_the_aliases() -> None:
    assert asked("gpu:1", pci_numa_affinity_policy="required")[0].numa_policy is NumaPolicy.REQUIRED


def test_numa_policy_of_the_image_stands_above_the_aliases() -> None:
    found = asked("gpu:1", properties={"hw_pci_numa_affinity_policy": "socket"})
    assert found[0].numa_policy is NumaPolicy.SOCKET


def test_numa_policies_of_flavor_and_image_must_agree() -> None:
    properties = {"hw_pci_numa_affinity_policy": "socket"}
    with pytest.raises(Invalid, match="hw_pci_numa_affinity_policy"):
        asked("gpu:1", pci_numa_affinity_policy="required", properties=properties)


def test_unknown_numa_policy_names_the_key() -> None:
    with pytest.raises(Invalid, match="hw:pci_numa_affinity_policy"):
        asked("gpu:1", pci_numa_affinity_policy="near")


@pytest.mark.parametrize(
    ("vnic", "more"),
    [
        ("direct", {}),
        ("direct-physical", {"dev_type": "type-PF"}),
        ("vdpa", {"dev_type": "vdpa"}),
        ("remote-managed", {"remote_managed": "true"}),
    ],
)
def test_port_asks_by_network_and_type(vnic: str, more: dict[str, str]) -> None:
    found = request_of_port(request_id="port", vnic_type=vnic, physical_network="fast")
    assert dict(found.specs[0]) == {"physical_network": "fast", **more}


def test_trusted_port_asks_for_a_trusted_device() -> None:
    found = request_of_port(request_id="port", vnic_type="direct", trusted=True)
    assert dict(found.specs[0]) == {"trusted": "true"}


def test_requests_survive_json() -> None:
    found = asked("gpu:2,nic:1")
    assert requests_from_list(requests_to_list(found)) == found
