"""What the audit of Placement, fleet and instances finds, and what it leaves alone."""

import uuid

import pytest
from django.db import connection
from django.db.models import F

from controlplane.infra.db import now_plus
from placement.domain import Claim, InventorySpec, ProviderKind
from placement.models import Allocation, Consumer, Inventory, ResourceProvider
from placement.selectors import fleet_usage
from placement.services import allocations_claim, inventory_put, inventory_set, provider_delete, provider_ensure
from scheduling.models import ComputeNode
from servers.models import BuildRequest, Instance
from servers.repair.domain.placement_findings import AuditFinding, AuditKind
from servers.repair.services.placement_audit import placement_audit
from tests.worlds.cloud import People, active, cloud, create, pump

# Agents of the small cloud close connections between their calls, which a test inside one transaction forbids.
pytestmark = pytest.mark.django_db(transaction=True)
STRANGER = uuid.UUID(int=99)


@pytest.fixture
def people(transactional_db: None) -> People:
    return cloud("h1", "h2")


def node_of(host: str) -> uuid.UUID:
    return ComputeNode.objects.get(host=host).pk


def make_old() -> None:
    """Everything that is there was made an hour ago."""
    Consumer.objects.update(created_at=now_plus(-3600))
    ResourceProvider.objects.update(created_at=now_plus(-3600))


def claim_of_nobody(host: str = "h1", *, consumer: uuid.UUID = STRANGER, consumer_type: str = "INSTANCE") -> None:
    held = {node_of(host): {"VCPU": 1, "MEMORY_MB": 128}}
    allocations_claim([Claim(consumer, uuid.UUID(int=1), uuid.UUID(int=2), held, consumer_type)])


def only() -> AuditFinding:
    (found,) = placement_audit()
    return found


def test_a_sound_installation_has_no_findings(people: People) -> None:
    active(people.member)
    create(people.member, "waits")
    make_old()

    assert placement_audit() == []


def test_a_claim_that_is_nobodys_is_an_orphan_once_it_is_old(people: People) -> None:
    claim_of_nobody()
    assert placement_audit() == []

    make_old()

    assert (only().kind, only().consumer_uuid) == (AuditKind.ORPHANED_ALLOCATIONS, STRANGER)
    assert "is nobody known here and holds MEMORY_MB 128, VCPU 1 of h1" in only().message


def test_a_claim_of_a_build_request_is_no_orphan_however_old(people: People) -> None:
    waiting = create(people.member)[0]
    claim_of_nobody(consumer=waiting.pk)
    make_old()

    assert BuildRequest.objects.filter(instance_uuid=waiting.pk).exists()
    assert placement_audit() == []


def test_what_a_deleted_instance_still_holds_is_an_orphan(people: People) -> None:
    gone = active(people.member)
    Instance.objects.filter(pk=gone.pk).update(deleted_at=now_plus(0), host="")
    make_old()

    assert only().kind is AuditKind.ORPHANED_ALLOCATIONS
    assert "is deleted" in only().message


def test_what_an_instance_in_error_on_no_host_holds_is_an_orphan(people: People) -> None:
    in_cell0 = active(people.member)
    Instance.objects.filter(pk=in_cell0.pk).update(host="", node="", compute_node_uuid=None, vm_state="error")
    make_old()

    assert "is in ERROR on no host" in only().message


def test_a_consumer_of_a_type_that_is_not_ours_is_left_alone(people: People) -> None:
    claim_of_nobody(consumer_type="SHARE")
    make_old()

    assert placement_audit() == []


def test_a_compute_provider_without_a_node_is_found_once_it_is_old(people: People) -> None:
    provider_ensure(STRANGER, "ghost")
    assert placement_audit() == []

    make_old()

    assert (only().kind, only().subject) == (AuditKind.PROVIDER_WITHOUT_NODE, "ghost")


def test_a_provider_that_is_no_compute_node_needs_none(people: People) -> None:
    provider_ensure(STRANGER, "nfs", kind=ProviderKind.OTHER)
    make_old()

    assert placement_audit() == []


def test_a_node_without_a_provider_is_found(people: People) -> None:
    provider_delete(node_of("h2"))

    assert (only().kind, only().subject) == (AuditKind.NODE_WITHOUT_PROVIDER, "h2")


def test_a_shrunk_inventory_is_over_committed_and_says_how_it_came_about(people: People) -> None:
    host = active(people.member).host
    inventory_put(node_of(host), "MEMORY_MB", InventorySpec(100))

    found = only()

    assert (found.kind, found.fix) == (AuditKind.OVERCOMMITTED, None)
    assert "512 allocated of a capacity of 100; 512 were used when these numbers were stated" in found.message
    assert "no new claims until 412 are given back" in found.obstacle


def test_over_commitment_by_drift_is_one_finding_and_says_so(people: People) -> None:
    host = active(people.member).host
    Inventory.objects.filter(provider__name=host, resource_class__name="VCPU").update(used=0)
    Allocation.objects.filter(resource_class__name="VCPU").update(used=1000)
    Instance.objects.update(flavor={**Instance.objects.get().flavor, "vcpus": 1000})

    assert only().kind is AuditKind.USED_DIFFERS
    assert "over the capacity of 16 by drift" in only().message


def test_a_drifted_counter_is_found_with_both_numbers(people: People) -> None:
    Inventory.objects.filter(provider__name="h1", resource_class__name="VCPU").update(used=5)

    found = only()

    assert (found.kind, found.provider_name, found.resource_class) == (AuditKind.USED_DIFFERS, "h1", "VCPU")
    assert found.fix is not None
    assert (found.fix.before, found.fix.after) == ("used 5", "used 0, the sum of the allocations")


def test_an_allocation_without_inventory_cannot_be_healed(people: People) -> None:
    active(people.member)
    Inventory.objects.filter(resource_class__name="DISK_GB", used__gt=0).delete()

    assert (only().kind, only().fix) == (AuditKind.NO_INVENTORY, None)
    assert "State the inventory again" in only().obstacle


def test_an_empty_consumer_is_found(people: People) -> None:
    Consumer.objects.create(uuid=STRANGER, project_id="p", user_id="u")

    assert (only().kind, only().consumer_uuid) == (AuditKind.EMPTY_CONSUMER, STRANGER)


def test_a_wrong_root_pointer_is_found(people: People) -> None:
    other = ResourceProvider.objects.get(name="h2")
    ResourceProvider.objects.filter(name="h1").update(root=other)

    assert (only().kind, only().subject) == (AuditKind.ROOT_POINTER, "h1")


def test_a_circle_of_parents_cannot_be_healed(people: People) -> None:
    for one, parent in (("h1", "h2"), ("h2", "h1")):
        ResourceProvider.objects.filter(name=one).update(parent=ResourceProvider.objects.get(name=parent))

    found = placement_audit()

    assert {(one.kind, one.subject, one.fix) for one in found} == {
        (AuditKind.ROOT_POINTER, "h1", None),
        (AuditKind.ROOT_POINTER, "h2", None),
    }


@pytest.mark.parametrize("model", [ResourceProvider, Consumer])
def test_a_negative_generation_is_found(model: type[ResourceProvider | Consumer], people: People) -> None:
    active(people.member)
    row = model.objects.order_by("pk").first()
    assert row is not None
    model.objects.filter(pk=row.pk).update(generation=-1)

    assert only().kind is AuditKind.GENERATION
    assert "has the generation -1" in only().message
    assert (row.name if isinstance(row, ResourceProvider) else str(row.uuid)) in only().message


def test_a_stamp_of_the_future_is_found_where_a_server_hands_them_out(people: People) -> None:
    ResourceProvider.objects.filter(name="h1").update(changed=F("changed") + 10**9)

    found = [(one.kind, one.subject) for one in placement_audit()]

    assert found == ([(AuditKind.CHANGE_STAMP, "h1")] if connection.vendor == "postgresql" else [])


def test_an_instance_on_a_host_that_holds_nothing_is_found(people: People) -> None:
    instance = active(people.member)
    Allocation.objects.all().delete()
    Consumer.objects.all().delete()
    Inventory.objects.update(used=0)

    found = only()

    assert (found.kind, found.consumer_uuid, found.subject) == (AuditKind.NO_ALLOCATIONS, instance.pk, str(instance.pk))
    assert found.fix is not None
    assert found.fix.after == f"holds DISK_GB 1, MEMORY_MB 512, VCPU 1 of {instance.host}"


def test_allocations_on_another_host_are_found(people: People) -> None:
    instance = active(people.member)
    other = "h2" if instance.host == "h1" else "h1"
    Instance.objects.update(host=other, node=other, compute_node_uuid=node_of(other))

    assert only().kind is AuditKind.OTHER_HOST
    assert f"is on {other} and holds allocations of {instance.host}" in only().message


def test_allocations_that_differ_from_the_flavor_are_found(people: People) -> None:
    instance = active(people.member)
    Instance.objects.update(flavor={**instance.flavor, "vcpus": 3})

    assert only().kind is AuditKind.OTHER_AMOUNTS
    assert "needs DISK_GB 1, MEMORY_MB 512, VCPU 3" in only().message


def test_what_is_held_of_a_nested_provider_cannot_be_healed(people: People) -> None:
    instance = active(people.member)
    provider_ensure(STRANGER, "numa-0", instance.compute_node_uuid, kind=ProviderKind.NESTED)
    inventory_set(STRANGER, {"VCPU": InventorySpec(4)})
    Allocation.objects.filter(resource_class__name="VCPU").update(provider=ResourceProvider.objects.get(uuid=STRANGER))
    Inventory.objects.filter(resource_class__name="VCPU").update(used=F("used") * 0)
    Inventory.objects.filter(provider__uuid=STRANGER).update(used=1)
    assert placement_audit() == []

    Instance.objects.update(flavor={**instance.flavor, "vcpus": 3})

    assert (only().kind, only().fix) == (AuditKind.OTHER_AMOUNTS, None)
    assert "nested or shared" in only().obstacle


def test_an_instance_that_is_being_deleted_is_left_alone(people: People) -> None:
    instance = active(people.member)
    Instance.objects.update(flavor={**instance.flavor, "vcpus": 3}, task_state="deleting")

    assert placement_audit() == []


def test_findings_are_narrowed_to_a_provider_or_an_instance(people: People) -> None:
    Inventory.objects.filter(resource_class__name="VCPU").update(used=5)
    claim_of_nobody("h2")
    make_old()

    by_name = {(one.kind, one.subject) for one in placement_audit(provider="h2")}

    assert by_name == {(AuditKind.USED_DIFFERS, "h2"), (AuditKind.ORPHANED_ALLOCATIONS, str(STRANGER))}
    assert {one.subject for one in placement_audit(provider=str(node_of("h1")))} == {"h1"}
    assert [one.kind for one in placement_audit(instance=STRANGER)] == [AuditKind.ORPHANED_ALLOCATIONS]


def test_instances_that_wait_or_found_no_host_are_no_findings(people: People) -> None:
    create(people.member, "many", min_count=3, max_count=3)
    pump()
    make_old()

    assert placement_audit() == []
    assert any(one.used for one in fleet_usage()[node_of("h1")].values())
