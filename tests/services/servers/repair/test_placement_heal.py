"""Each fix of the audit: it puts right, twice does nothing, and what changed meanwhile is looked at again."""

import uuid
from collections.abc import Callable
from dataclasses import replace

import pytest
from django.db import connection
from django.db.models import F

from controlplane.infra.db import now_plus
from placement.domain import Claim, InventorySpec, ProviderKind
from placement.models import Allocation, Consumer, CountedConsumer, Inventory, ProviderAggregate, ResourceProvider
from placement.selectors import allocations_by_consumer, fleet_usage, provider_find
from placement.services import allocations_claim, allocations_free, inventory_put, provider_delete, provider_ensure
from scheduling.fleet.services.aggregates import aggregate_create, aggregate_host_add
from scheduling.models import ComputeNode
from servers.catalog.services.server_group import server_group_create
from servers.models import Instance
from servers.repair.domain.placement_findings import AuditFinding, AuditKind, HealState
from servers.repair.services.placement_audit import placement_audit
from servers.repair.services.placement_heal import finding_heal
from tests.worlds.cloud import People, active, cloud, create

# Agents of the small cloud close connections between their calls, which a test inside one transaction forbids.
pytestmark = pytest.mark.django_db(transaction=True)
STRANGER = uuid.UUID(int=99)
Break = Callable[[People], None]


@pytest.fixture
def people(transactional_db: None) -> People:
    return cloud("h1", "h2")


def node_of(host: str) -> uuid.UUID:
    return ComputeNode.objects.get(host=host).pk


def make_old() -> None:
    Consumer.objects.update(created_at=now_plus(-3600))
    ResourceProvider.objects.update(created_at=now_plus(-3600))


def claim_for(consumer: uuid.UUID, host: str = "h1", **amounts: int) -> None:
    allocations_claim([Claim(consumer, uuid.UUID(int=1), uuid.UUID(int=2), {node_of(host): amounts or {"VCPU": 1}})])


def only() -> AuditFinding:
    (found,) = placement_audit()
    return found


def nobodys_claim(_: People) -> None:
    claim_for(STRANGER)
    make_old()


def claim_of_a_deleted_instance(people: People) -> None:
    gone = active(people.member)
    Instance.objects.filter(pk=gone.pk).update(deleted_at=now_plus(0), host="")
    make_old()


def claim_of_an_instance_in_cell0(people: People) -> None:
    active(people.member)
    Instance.objects.update(host="", node="", compute_node_uuid=None, vm_state="error")
    make_old()


def ghost_with_children(_: People) -> None:
    provider_ensure(STRANGER, "ghost")
    provider_ensure(uuid.UUID(int=98), "ghost-gpu", STRANGER, kind=ProviderKind.NESTED)
    provider_ensure(uuid.UUID(int=97), "ghost-vf", uuid.UUID(int=98), kind=ProviderKind.NESTED)
    make_old()


def node_alone(_: People) -> None:
    provider_delete(node_of("h2"))


def counter_too_high(people: People) -> None:
    active(people.member)
    Inventory.objects.filter(provider__name="h1", resource_class__name="VCPU").update(used=9)


def counter_too_low(people: People) -> None:
    active(people.member)
    Inventory.objects.filter(resource_class__name="VCPU").update(used=0)


def empty_consumer(_: People) -> None:
    Consumer.objects.create(uuid=STRANGER, project_id="p", user_id="u")


def wrong_root(_: People) -> None:
    ResourceProvider.objects.filter(name="h1").update(root=ResourceProvider.objects.get(name="h2"))


def no_root(_: People) -> None:
    ResourceProvider.objects.filter(name="h1").update(root=None)


def negative_provider(_: People) -> None:
    ResourceProvider.objects.filter(name="h1").update(generation=-5)


def negative_consumer(people: People) -> None:
    active(people.member)
    Consumer.objects.update(generation=-5)


def holds_nothing(people: People) -> None:
    allocations_free([active(people.member).pk])


def holds_elsewhere(people: People) -> None:
    instance = active(people.member)
    other = "h2" if instance.host == "h1" else "h1"
    Instance.objects.update(host=other, node=other, compute_node_uuid=node_of(other))


def holds_too_little(people: People) -> None:
    instance = active(people.member)
    Instance.objects.update(flavor={**instance.flavor, "vcpus": 3})


BROKEN: list[Break] = [
    nobodys_claim,
    claim_of_a_deleted_instance,
    claim_of_an_instance_in_cell0,
    ghost_with_children,
    node_alone,
    counter_too_high,
    counter_too_low,
    empty_consumer,
    wrong_root,
    no_root,
    negative_provider,
    negative_consumer,
    holds_nothing,
    holds_elsewhere,
    holds_too_little,
]


@pytest.mark.parametrize("broken", BROKEN)
def test_a_fix_is_done_once_and_not_needed_again_and_leaves_no_finding(broken: Break, people: People) -> None:
    broken(people)
    found = only()
    assert found.fix is not None

    states = [finding_heal(found).state for _ in range(2)]

    assert states == [HealState.DONE, HealState.NOT_NEEDED]
    assert placement_audit() == []


def test_a_stamp_of_the_future_is_replaced(people: People) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite's next stamp is above all that are there")
    ResourceProvider.objects.filter(name="h1").update(changed=F("changed") + 10**9)
    found = only()

    assert [finding_heal(found).state for _ in range(2)] == [HealState.DONE, HealState.NOT_NEEDED]
    assert placement_audit() == []


def test_freeing_an_orphan_gives_its_room_back(people: People) -> None:
    nobodys_claim(people)

    finding_heal(only())

    assert fleet_usage()[node_of("h1")]["VCPU"].used == 0


def test_an_orphan_that_found_an_owner_meanwhile_keeps_its_claim(people: People) -> None:
    waiting = create(people.member)[0]
    claim_for(STRANGER)
    make_old()
    found = only()
    # As if the build request had come with this uuid.
    Consumer.objects.filter(uuid=STRANGER).update(uuid=waiting.pk)

    assert finding_heal(replace(found, consumer_uuid=waiting.pk)).state is HealState.NOT_NEEDED
    assert waiting.pk in allocations_by_consumer()


def test_an_orphan_that_changed_since_it_was_seen_is_left_for_the_next_audit(people: People) -> None:
    nobodys_claim(people)
    found = only()
    Consumer.objects.update(generation=F("generation") + 1)

    assert finding_heal(found).state is HealState.NOT_NEEDED
    assert STRANGER in allocations_by_consumer()


def test_a_consumer_that_claimed_meanwhile_is_not_removed(people: People) -> None:
    empty_consumer(people)
    found = only()
    Consumer.objects.all().delete()
    claim_for(STRANGER)

    assert finding_heal(found).state is HealState.NOT_NEEDED
    assert STRANGER in allocations_by_consumer()


def test_a_counter_is_counted_anew_from_what_is_allocated_now_not_when_it_was_seen(people: People) -> None:
    Inventory.objects.filter(provider__name="h1", resource_class__name="VCPU").update(used=5)
    found = only()
    claim_for(STRANGER, VCPU=2)

    assert finding_heal(found).state is HealState.DONE
    assert fleet_usage()[node_of("h1")]["VCPU"].used == 2


def test_a_counter_above_the_capacity_is_told_as_over_commitment_from_then_on(people: People) -> None:
    active(people.member)
    Inventory.objects.filter(used__gt=0, resource_class__name="VCPU").update(used=0)
    Allocation.objects.filter(resource_class__name="VCPU").update(used=1000)
    Instance.objects.update(flavor={**Instance.objects.get().flavor, "vcpus": 1000})

    assert finding_heal(only()).state is HealState.DONE
    assert only().kind is AuditKind.OVERCOMMITTED


def test_a_provider_that_somebody_holds_stays_with_all_below_it_and_says_who(people: People) -> None:
    ghost_with_children(people)
    inventory_put(STRANGER, "VCPU", InventorySpec(4))
    allocations_claim([Claim(uuid.UUID(int=5), "p", "u", {STRANGER: {"VCPU": 1}}, "VOLUME")])

    result = finding_heal(only())

    assert (result.state, result.reason) == (
        HealState.IMPOSSIBLE,
        "1 consumers hold allocations of ghost.",
    )
    assert ResourceProvider.objects.filter(name__startswith="ghost").count() == 3


def test_a_provider_whose_host_registered_meanwhile_stays(people: People) -> None:
    found = AuditFinding(AuditKind.PROVIDER_WITHOUT_NODE, "", provider_uuid=node_of("h1"))
    ghost_with_children(people)

    assert finding_heal(replace(only(), provider_uuid=found.provider_uuid)).state is HealState.NOT_NEEDED
    assert provider_find(node_of("h1")) is not None


def test_a_provider_made_anew_has_inventories_and_aggregates_as_its_host(people: People) -> None:
    aggregate = aggregate_create(name="rack")
    aggregate_host_add(aggregate_id=aggregate.pk, host="h2")
    provider_delete(node_of("h2"))

    finding_heal(only())

    assert fleet_usage()[node_of("h2")]["VCPU"].total == 4
    assert ProviderAggregate.objects.get(provider__name="h2").aggregate.uuid == aggregate.pk


def test_an_instance_holds_its_flavor_on_its_own_host_after_healing(people: People) -> None:
    holds_elsewhere(people)
    finding_heal(only())

    instance = Instance.objects.get()
    held = {(one.provider_name, one.resource_class, one.used) for one in allocations_by_consumer()[instance.pk]}

    assert held == {(instance.host, "VCPU", 1), (instance.host, "MEMORY_MB", 512), (instance.host, "DISK_GB", 1)}


def test_an_instance_without_room_on_its_host_keeps_what_it_holds_and_is_told_why(people: People) -> None:
    holds_elsewhere(people)
    instance = Instance.objects.get()
    before = allocations_by_consumer()[instance.pk]
    claim_for(STRANGER, instance.host, VCPU=4)
    inventory_put(node_of(instance.host), "VCPU", InventorySpec(4))
    found = next(one for one in placement_audit() if one.kind is AuditKind.OTHER_HOST)

    result = finding_heal(found)

    assert result.state is HealState.IMPOSSIBLE
    assert "wants 1, has 0 free" in result.reason
    assert allocations_by_consumer()[instance.pk] == before


def test_an_instance_deleted_meanwhile_claims_nothing(people: People) -> None:
    holds_nothing(people)
    found = only()
    Instance.objects.update(deleted_at=now_plus(0))

    assert finding_heal(found).state is HealState.NOT_NEEDED
    assert allocations_by_consumer() == {}


def test_what_has_no_fix_says_why(people: People) -> None:
    active(people.member)
    Inventory.objects.filter(resource_class__name="DISK_GB", used__gt=0).delete()

    result = finding_heal(only())

    assert result.state is HealState.IMPOSSIBLE
    assert "State the inventory again" in result.reason


@pytest.mark.parametrize(("policy", "key"), [("anti-affinity", "group"), ("affinity", "together")])
def test_a_member_of_a_group_counts_on_its_host_after_healing(people: People, policy: str, key: str) -> None:
    group = server_group_create(caller=people.member, name="group", policy=policy)
    instance = active(people.member, hints={"group": str(group.pk)})
    allocations_free([instance.pk])

    finding_heal(only())

    assert CountedConsumer.objects.get(consumer__uuid=instance.pk).key == f"{key}:{group.pk}"
