"""This module finds what is wrong between Placement, the fleet and the instances. It only reads, safely while all runs.

Tables are read one after the other, so a finding that may come from a move is read a second time. What a build in
progress explains is no finding: a claim without an owner counts only once it is GRACE_S old.
"""

import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from itertools import chain

from controlplane.infra.db import pages_by_key
from controlplane.kernel.texts import phrase as _
from placement.domain import AllocationView, ConsumerView, FindingKind, ProviderFinding
from placement.selectors import allocations_by_consumer, consumer_list, consumers_older_than, provider_views
from placement.selectors.audit_facts import ComputeProviderFacts, compute_providers_older_than
from placement.services import audit_inventory_usage
from placement.services.audit import audit_overcommitment, audit_providers
from scheduling.fleet.selectors.hosts import host_exists, host_nodes
from servers.models import Instance
from servers.repair.domain.placement_findings import AuditFinding, AuditKind, Fix, amounts_text
from servers.repair.domain.placement_fixes import answer_to
from servers.repair.selectors.consumers import consumers_without_owner, instance_uuids_seen
from servers.repair.services.claim_sweep import GRACE_S
from servers.repair.services.instance_allocations import (
    Mismatch,
    amounts_of_ports,
    compute_roots,
    mismatch_now,
    mismatch_of,
)
from servers.states import VmState

# Consumers of other types belong to clients of Placement's API, of which nobody here knows whether they still exist.
OUR_TYPES = frozenset({"INSTANCE", "MIGRATION", "VOLUME", "", None})
_KINDS = {
    FindingKind.USED_DIFFERS: AuditKind.USED_DIFFERS,
    FindingKind.ALLOCATION_WITHOUT_INVENTORY: AuditKind.NO_INVENTORY,
    FindingKind.CONSUMER_WITHOUT_ALLOCATIONS: AuditKind.EMPTY_CONSUMER,
    FindingKind.OVERCOMMITTED: AuditKind.OVERCOMMITTED,
    FindingKind.ROOT_WRONG: AuditKind.ROOT_POINTER,
    FindingKind.PARENT_LOOP: AuditKind.ROOT_POINTER,
    FindingKind.STAMP_AHEAD: AuditKind.CHANGE_STAMP,
    FindingKind.GENERATION_NEGATIVE: AuditKind.GENERATION,
}


def placement_audit(*, provider: str = "", instance: uuid.UUID | None = None) -> list[AuditFinding]:
    """All findings in the order of healing; only those about one provider (uuid or name) or instance when named."""
    order = {kind: place for place, kind in enumerate(AuditKind)}
    shown = [
        one
        for one in placement_findings()
        if instance in (None, one.consumer_uuid)
        and (not provider or provider in (one.provider_name, str(one.provider_uuid), *one.providers))
    ]
    return sorted(shown, key=lambda one: (order[one.kind], one.subject, one.resource_class))


def placement_findings() -> Iterator[AuditFinding]:
    """The same findings as they are found, in no order. Whoever stops early has not paid for the rest."""
    names = {view.uuid: view.name for view in provider_views()}
    for one in chain(_of_placement(names), _orphans(), _nodes_and_providers(), _instances()):
        name = names.get(one.provider_uuid, one.provider_name) if one.provider_uuid else ""
        yield replace(one, provider_name=name) if name else one


def finding_of_instance(instance_id: uuid.UUID) -> AuditFinding | None:
    """What is wrong with the allocations of one instance that is on a host; the others are not read."""
    found = _mismatch_settled(instance_id, compute_roots())
    return _instance_finding(*found) if found else None


def _of_placement(names: Mapping[uuid.UUID, str]) -> Iterator[AuditFinding]:
    for one in [*audit_inventory_usage(), *audit_overcommitment(), *audit_providers()]:
        # Allocated above the capacity by no statement of an operator: the counter that allowed it differs, too.
        if one.kind is not FindingKind.OVER_ALLOCATED:
            yield _placement_finding(one, names.get(one.provider_uuid, "") if one.provider_uuid else "")


def _placement_finding(one: ProviderFinding, provider: str) -> AuditFinding:
    fix, obstacle = answer_to(one, provider)
    drift = one.kind is FindingKind.USED_DIFFERS and one.allocated > max(one.capacity, one.used_when_set)
    added = f"; over the capacity of {one.capacity} by drift, no statement of an operator allowed it" if drift else ""
    return AuditFinding(
        kind=_KINDS[one.kind],
        message=one.sentence(provider_name=provider) + added,
        provider_uuid=one.provider_uuid,
        consumer_uuid=one.consumer_uuid,
        resource_class=one.resource_class,
        seen={name: value for name, value in asdict(one).items() if value},
        fix=fix,
        obstacle=obstacle,
    )


def _orphans() -> Iterator[AuditFinding]:
    """Consumers without any owner, whose instance is deleted, or whose instance has no host and gets none."""
    old = set(consumers_older_than(seconds=GRACE_S))
    suspects = {one.uuid: one for one in consumer_list() if one.uuid in old and one.consumer_type in OUR_TYPES}
    nobodys = consumers_without_owner(suspects)
    hostless = Instance.objects.filter(deleted_at__isnull=True, host="", vm_state=VmState.ERROR)
    in_cell0 = set(hostless.values_list("pk", flat=True)) & suspects.keys()
    # Whoever ends an instance frees its claim in the same transaction: only what is still held now is an orphan.
    held = allocations_by_consumer(nobodys | in_cell0)
    were = instance_uuids_seen(nobodys)
    for pk in sorted(held):
        why = "is in ERROR on no host" if pk in in_cell0 else "is deleted" if pk in were else "is nobody known here"
        yield _orphan(suspects[pk], held[pk], why)


def _orphan(consumer: ConsumerView, held: list[AllocationView], why: str) -> AuditFinding:
    names = sorted({one.provider_name for one in held})
    sums = "; ".join(
        f"{amounts_text({one.resource_class: one.used for one in held if one.provider_name == name})} of {name}"
        for name in names
    )
    kind = (consumer.consumer_type or "consumer").lower()
    return AuditFinding(
        kind=AuditKind.ORPHANED_ALLOCATIONS,
        message=f"{kind} {consumer.uuid} {why} and holds {sums}",
        consumer_uuid=consumer.uuid,
        providers=tuple(sorted({*names, *(str(one.provider_uuid) for one in held)})),
        seen={"generation": consumer.generation, "created_at": consumer.created_at, "project": consumer.project_id},
        fix=Fix(
            _("Free the allocations of {uuid}.", uuid=consumer.uuid),
            _("It {why}: nobody uses the room, and nobody else can.", why=why),
            f"holds {sums}",
            "holds nothing",
        ),
    )


def _nodes_and_providers() -> Iterator[AuditFinding]:
    providers = compute_providers_older_than(seconds=GRACE_S)
    nodes = {node.id: node for node in host_nodes()}
    for facts in providers:
        if facts.uuid not in nodes:
            yield _provider_without_node(facts)
    # Read after the nodes: a host comes and goes with both in one transaction.
    known = {view.uuid for view in provider_views(nodes.keys())}
    present = set(host_nodes().filter(id__in=nodes.keys() - known).values_list("id", flat=True))
    for node_id in sorted(present):
        yield _node_without_provider(node_id, nodes[node_id].hypervisor_hostname, nodes[node_id].host)


def _provider_without_node(facts: ComputeProviderFacts) -> AuditFinding:
    below = _(" with {children} below it", children=facts.children) if facts.children else ""
    held = f", {facts.consumers} consumers hold some of it" if facts.consumers else ""
    return AuditFinding(
        kind=AuditKind.PROVIDER_WITHOUT_NODE,
        message=f"provider {facts.name} stands for a compute node that does not exist{held}",
        provider_uuid=facts.uuid,
        provider_name=facts.name,
        seen={"consumers": facts.consumers, "children": facts.children},
        fix=Fix(
            _("Delete provider {facts}{below}.", facts=facts.name, below=below),
            _(
                "No agent answers for it, so a claim on it could never become an instance. It stays "
                "while anybody holds allocations of it."
            ),
            "a provider without a compute node",
            "no provider",
        ),
    )


def _node_without_provider(node_id: uuid.UUID, name: str, host: str) -> AuditFinding:
    return AuditFinding(
        kind=AuditKind.NODE_WITHOUT_PROVIDER,
        message=f"compute node {name} of host {host} has no resource provider",
        provider_uuid=node_id,
        provider_name=name,
        seen={"host": host},
        fix=Fix(
            _("Make the provider of {name} from what its agent reported last.", name=name),
            _("Without it the scheduler never chooses the host, and its instances hold nothing."),
            "no provider",
            "a provider with inventories, traits and aggregates",
        ),
    )


def _instances() -> Iterator[AuditFinding]:
    roots = compute_roots()
    rows = Instance.objects.filter(deleted_at__isnull=True).exclude(host="").defer("user_data")
    for placed in pages_by_key(rows, size=500):
        held = allocations_by_consumer([one.pk for one in placed])
        asked = amounts_of_ports([one.pk for one in placed])
        suspects = [
            one.pk for one in placed if mismatch_of(one, held.get(one.pk, []), roots, asked.get(one.pk, Counter()))
        ]
        for pk in suspects:
            if found := _mismatch_settled(pk, roots):
                yield _instance_finding(*found)


def _mismatch_settled(instance_id: uuid.UUID, roots: Mapping[uuid.UUID, uuid.UUID]) -> tuple[Instance, Mismatch] | None:
    """The mismatch, if the instance was the same before and after its allocations were read."""
    before = Instance.objects.filter(pk=instance_id, deleted_at__isnull=True).first()
    found = mismatch_now(before, roots) if before is not None else None
    if before is None or found is None:
        return None
    is_same = Instance.objects.filter(pk=instance_id, generation=before.generation, deleted_at__isnull=True).exists()
    return (before, found) if is_same else None


def _instance_finding(instance: Instance, found: Mismatch) -> AuditFinding:
    obstacle = found.obstacle
    if not obstacle and not host_exists(host=instance.host):
        obstacle = _(
            "Host {host} is not registered: there is nothing that the instance could hold.", host=instance.host
        )
    fix = Fix(
        _(
            "Let instance {instance} hold what its flavor needs, of {node}.",
            instance=instance.name,
            node=instance.node or instance.host,
        ),
        _("What runs on a host must be counted there, or others get its room; it is done only where there is room."),
        f"holds {amounts_text(found.held)}" + (f" of {', '.join(found.held_of)}" if found.held_of else ""),
        f"holds {amounts_text(found.wanted)} of {instance.node or instance.host}",
    )
    return AuditFinding(
        kind=found.kind,
        message=found.message,
        provider_uuid=instance.compute_node_uuid,
        consumer_uuid=instance.pk,
        providers=found.held_of,
        seen={"host": instance.host, "held": dict(found.held), "wanted": dict(found.wanted)},
        fix=None if obstacle else fix,
        obstacle=obstacle,
    )
