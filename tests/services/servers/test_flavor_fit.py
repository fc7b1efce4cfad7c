"""What an operator is told about flavors before an inventory changes."""

import uuid

import pytest

from placement.domain import InventorySpec, ProviderKind
from placement.selectors.inventory_effect import inventory_effect
from placement.services import inventory_put, provider_ensure
from scheduling.models import ComputeNode
from servers.admin import InstanceAdmin
from tests.worlds.cloud import cloud, flavor

pytestmark = pytest.mark.django_db(transaction=True)
assert InstanceAdmin  # with the admin, the notes are there


@pytest.fixture
def node(transactional_db: None) -> uuid.UUID:
    """A host with 16 VCPU to give, 7680 MiB and 100 GiB; flavors of 1, 2 and 4 vCPUs."""
    cloud("h1")
    flavor("m1.medium", vcpus=2, memory_mib=1024, root_gib=1)
    flavor("m1.large", vcpus=4, memory_mib=2048, root_gib=1)
    flavor("m1.gone", vcpus=4, memory_mib=2048, root_gib=1, disabled=True)
    return ComputeNode.objects.get().pk


def test_the_largest_flavors_come_first_with_how_many_fit(node: uuid.UUID) -> None:
    effect = inventory_effect(node, "VCPU", InventorySpec(8, max_unit=8))

    assert effect.notes[0] == "Largest flavors that still fit: m1.large (2 more), m1.medium (4 more), m1.tiny (8 more)."


def test_flavors_that_no_longer_fit_are_named(node: uuid.UUID) -> None:
    notes = inventory_effect(node, "VCPU", InventorySpec(3, max_unit=3)).notes

    assert "Largest flavors that still fit: m1.medium (1 more), m1.tiny (3 more)." in notes
    assert "No longer fit: m1.large." in notes


def test_no_flavor_fits_where_no_room_is_left(node: uuid.UUID) -> None:
    notes = inventory_effect(node, "MEMORY_MB", InventorySpec(100)).notes

    assert notes[:2] == ("No flavor fits then.", "No longer fit: m1.large, m1.medium, m1.tiny.")


def test_what_the_agent_states_again_is_told_but_a_ratio_lasts(node: uuid.UUID) -> None:
    shrunk = inventory_effect(node, "VCPU", InventorySpec(3, max_unit=3)).notes
    now = inventory_effect(node, "VCPU", InventorySpec(4, max_unit=4)).before.spec
    ratio = inventory_effect(node, "VCPU", InventorySpec(now.total, now.reserved, 1, now.max_unit, 1, 1.0)).notes

    assert any("states VCPU anew when it registers" in note for note in shrunk)
    assert not any("anew" in note for note in ratio)


def test_a_provider_that_is_no_host_gets_no_notes(node: uuid.UUID) -> None:
    share = uuid.uuid4()
    provider_ensure(share, "nfs", kind=ProviderKind.OTHER)
    inventory_put(share, "DISK_GB", InventorySpec(10))

    assert inventory_effect(share, "DISK_GB", InventorySpec(5)).notes == ()
