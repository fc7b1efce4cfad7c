"""This module heals findings of `placement_audit`, each in one transaction, read again under its lock."""

from collections.abc import Callable
from uuid import UUID

from django.db import transaction

from controlplane.audit_log.recording.audited import audited
from controlplane.kernel.errors import KilonovaError, NotFound
from controlplane.kernel.texts import phrase as _
from placement.selectors import provider_find
from placement.selectors.audit_facts import stamps_ahead
from placement.services.heal import (
    consumer_end_if_empty,
    consumer_free_if,
    consumer_generation_restore,
    inventory_used_recount,
    provider_generation_restore,
    provider_restamp,
    provider_root_restore,
    provider_tree_remove_if,
)
from scheduling.fleet.selectors.hosts import host_nodes
from scheduling.fleet.services.providers import host_aggregates_mirror, node_provider_sync
from servers.models import Instance
from servers.repair.domain.placement_findings import AuditFinding, AuditKind, HealResult, HealState
from servers.repair.selectors.consumers import consumers_without_owner
from servers.repair.services.instance_allocations import instance_allocations_restore
from servers.states import VmState


@audited("drift.heal", by="finding", is_apart=True)
def finding_heal(finding: AuditFinding) -> HealResult:
    """Heal it if it still holds. Nothing is raised for what cannot be healed: the result says why."""
    if finding.fix is None:
        return HealResult(finding, HealState.IMPOSSIBLE, finding.obstacle)
    try:
        is_done = _HEALERS[finding.kind](finding)
    except NotFound:
        return HealResult(finding, HealState.NOT_NEEDED)
    except KilonovaError as error:
        return HealResult(finding, HealState.IMPOSSIBLE, error.message)
    return HealResult(finding, HealState.DONE if is_done else HealState.NOT_NEEDED)


def _provider(finding: AuditFinding) -> UUID:
    if finding.provider_uuid is None:
        raise NotFound(_("The finding names no provider."))
    return finding.provider_uuid


def _consumer(finding: AuditFinding) -> UUID:
    if finding.consumer_uuid is None:
        raise NotFound(_("The finding names no consumer."))
    return finding.consumer_uuid


def _used(finding: AuditFinding) -> bool:
    return inventory_used_recount(_provider(finding), finding.resource_class)


def _empty(finding: AuditFinding) -> bool:
    return consumer_end_if_empty(_consumer(finding))


def _generation(finding: AuditFinding) -> bool:
    if finding.consumer_uuid is not None:
        return consumer_generation_restore(finding.consumer_uuid)
    return provider_generation_restore(_provider(finding))


def _root(finding: AuditFinding) -> bool:
    return provider_root_restore(_provider(finding))


def _stamp(finding: AuditFinding) -> bool:
    provider = _provider(finding)
    return provider_restamp(provider, is_ahead=lambda: provider in stamps_ahead())


def _orphan(finding: AuditFinding) -> bool:
    consumer = _consumer(finding)
    with transaction.atomic():
        # Instances before consumers, as everywhere: a rescheduling in progress waits for us, or we for it.
        list(Instance.objects.select_for_update().filter(pk=consumer).values_list("pk"))
        return consumer_free_if(
            consumer, generation=int(finding.seen["generation"]), still=lambda: _is_orphan(consumer)
        )


def _is_orphan(consumer: UUID) -> bool:
    in_cell0 = Instance.objects.filter(pk=consumer, deleted_at__isnull=True, host="", vm_state=VmState.ERROR)
    return bool(consumers_without_owner([consumer])) or in_cell0.exists()


def _node(finding: AuditFinding) -> bool:
    provider = _provider(finding)
    with transaction.atomic():
        node = host_nodes().select_for_update(of=("self",)).filter(id=provider).first()
        if node is None or provider_find(provider) is not None:
            return False
        node_provider_sync(node=node, disabled=node.service.disabled)
        host_aggregates_mirror(host=node.host)
    return True


def _provider_gone(finding: AuditFinding) -> bool:
    provider = _provider(finding)
    return provider_tree_remove_if(provider, still=lambda: not host_nodes().filter(id=provider).exists())


def _instance(finding: AuditFinding) -> bool:
    return instance_allocations_restore(instance_id=_consumer(finding), kind=finding.kind)


_HEALERS: dict[AuditKind, Callable[[AuditFinding], bool]] = {
    AuditKind.EMPTY_CONSUMER: _empty,
    AuditKind.GENERATION: _generation,
    AuditKind.ROOT_POINTER: _root,
    AuditKind.CHANGE_STAMP: _stamp,
    AuditKind.ORPHANED_ALLOCATIONS: _orphan,
    AuditKind.NODE_WITHOUT_PROVIDER: _node,
    AuditKind.USED_DIFFERS: _used,
    AuditKind.OTHER_HOST: _instance,
    AuditKind.OTHER_AMOUNTS: _instance,
    AuditKind.NO_ALLOCATIONS: _instance,
    AuditKind.PROVIDER_WITHOUT_NODE: _provider_gone,
}
