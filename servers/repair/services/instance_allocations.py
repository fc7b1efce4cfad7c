"""This module compares what an instance holds in Placement with what it should hold: what its flavor and its ports ask
for, on its own host, nothing else.
"""

import uuid
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from django.db import transaction

from controlplane.kernel.errors import Conflict, Invalid
from controlplane.kernel.texts import phrase as _
from placement.domain import MAX_INT, AllocationView, ConsumerState, CountLimit, ProviderKind
from placement.selectors import allocations_by_consumer, fleet_usage, provider_views
from placement.selectors.allocations import consumer_holdings
from placement.services import allocations_replace
from scheduling.domain.request.group_counts import group_count_key
from scheduling.domain.request.resources import PCPU, derive_resources
from scheduling.domain.snapshots import FlavorSnapshot, ImageSnapshot
from servers.models import Instance, Port, ServerGroupMember
from servers.networks.domain.port_resources import resource_groups
from servers.repair.domain.placement_findings import AuditKind, amounts_text
from servers.states import DELETING_TASKS

BY_HAND = _("Part of it is held of nested or shared providers, which only the scheduler can choose anew.")


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One instance whose allocations are not what they should be. Amounts by resource class, on its own node."""

    kind: AuditKind
    message: str
    wanted: Mapping[str, int]
    held: Mapping[str, int]
    held_of: tuple[str, ...]
    obstacle: str = ""


def compute_roots() -> dict[uuid.UUID, uuid.UUID]:
    """{provider: its root} for every provider that belongs to a compute node. One query."""
    views = provider_views()
    nodes = {view.uuid for view in views if view.kind is ProviderKind.COMPUTE}
    return {view.uuid: view.root_uuid for view in views if view.root_uuid in nodes}


def amounts_of_ports(instance_ids: Collection[uuid.UUID]) -> dict[uuid.UUID, Counter[str]]:
    """What the ports of each of these instances ask of Placement, such as bandwidth, by resource class. One query."""
    found: dict[uuid.UUID, Counter[str]] = {}
    asking = Port.objects.filter(instance_uuid__in=instance_ids).exclude(resource_request={})
    for instance_uuid, asked in asking.values_list("instance_uuid", "resource_request"):
        if instance_uuid is not None:
            for group in resource_groups(asked):
                found.setdefault(instance_uuid, Counter()).update(group.resources)
    return found


def mismatch_of(
    instance: Instance,
    held: Sequence[AllocationView],
    roots: Mapping[uuid.UUID, uuid.UUID],
    of_ports: Mapping[str, int] = MappingProxyType({}),
) -> Mismatch | None:
    """What is wrong with the allocations of an instance that is on a host; None when nothing is.

    One that is being deleted is left alone: its allocations end with it. `of_ports`: see `amounts_of_ports`.
    """
    node = instance.compute_node_uuid
    if not instance.host or node is None or instance.task_state in DELETING_TASKS:
        return None
    of_flavor, sums = wanted_amounts(instance.flavor, instance.image, is_bfv=instance.is_bfv), _sums(held)
    ways = [dict(Counter(each) + Counter(of_ports)) for each in of_flavor]
    is_elsewhere = any(roots.get(one.provider_uuid, node) != node for one in held)
    if not is_elsewhere and sums in ways:
        return None
    wanted = ways[0] if len(ways) == 1 or PCPU in fleet_usage({node}).get(node, {}) else ways[1]
    names = tuple(sorted({one.provider_name for one in held}))
    # What a port asks for is of a card or a bridge, which is a provider below the host's.
    is_by_hand = bool(of_ports) or any(roots.get(one.provider_uuid) != one.provider_uuid for one in held)
    kind, said = _said(instance, is_elsewhere=is_elsewhere, wanted=wanted, sums=sums, names=names, of_ports=of_ports)
    return Mismatch(kind, said, wanted, sums, names, BY_HAND if is_by_hand else "")


def _said(
    instance: Instance,
    *,
    is_elsewhere: bool,
    wanted: Mapping[str, int],
    sums: Mapping[str, int],
    names: Sequence[str],
    of_ports: Mapping[str, int],
) -> tuple[AuditKind, str]:
    subject = f"instance {instance.name} is on {instance.host}"
    if not sums:
        return AuditKind.NO_ALLOCATIONS, f"{subject} and holds nothing there"
    if is_elsewhere:
        return AuditKind.OTHER_HOST, f"{subject} and holds allocations of {', '.join(names)}"
    flavor = instance.flavor.get("name", "")
    whose = f"its flavor {flavor} and its ports need" if of_ports else f"its flavor {flavor} needs"
    sentence = f"{subject} and holds {amounts_text(sums)}; {whose} {amounts_text(wanted)}"
    return AuditKind.OTHER_AMOUNTS, sentence


def wanted_amounts(flavor: Mapping[str, Any], image: Mapping[str, Any], *, is_bfv: bool) -> tuple[dict[str, int], ...]:
    """Amounts per resource class, from the snapshots stored with the instance; a second set for hosts without PCPU.

    A flavor that contradicts itself needs what its sizes say: nobody would schedule it today.
    """
    asked = FlavorSnapshot(**flavor)
    known = {name: image[name] for name in ("id", "name", "properties") if name in image}
    try:
        found = derive_resources(asked, ImageSnapshot(**known), is_bfv=is_bfv)
    except Invalid:
        found = derive_resources(replace(asked, extra_specs={}), ImageSnapshot(), is_bfv=is_bfv)
    return tuple(dict(each.amounts) for each in (found, found.fallback) if each is not None)


def _sums(held: Sequence[AllocationView]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for one in held:
        sums[one.resource_class] = sums.get(one.resource_class, 0) + one.used
    return sums


def instance_allocations_restore(*, instance_id: uuid.UUID, kind: AuditKind) -> bool:
    """Let the instance hold what its flavor needs on its own host; False when there is no such mismatch any more.

    Invariant: it is one transaction under the instance's lock, so the instance holds either what it held or what it
    should. Raises NoCapacity when its host has no room for it, Conflict when it cannot be done without choosing
    providers anew.
    """
    with transaction.atomic():
        rows = Instance.objects.select_for_update().filter(pk=instance_id, deleted_at__isnull=True)
        instance = rows.first()
        found = mismatch_now(instance, compute_roots()) if instance is not None else None
        if instance is None or found is None or found.kind is not kind:
            return False
        if found.obstacle:
            raise Conflict(found.obstacle)
        allocations_replace([_state(instance, found.wanted)])
    return True


def mismatch_now(instance: Instance, roots: Mapping[uuid.UUID, uuid.UUID]) -> Mismatch | None:
    """The mismatch as in `mismatch_of`, by the allocations and ports that are there now. Two queries."""
    held = allocations_by_consumer([instance.pk]).get(instance.pk, [])
    return mismatch_of(instance, held, roots, amounts_of_ports([instance.pk]).get(instance.pk, {}))


def _state(instance: Instance, wanted: Mapping[str, int]) -> ConsumerState:
    """The state to write: all that the instance should hold, if it still holds what was compared."""
    node = instance.compute_node_uuid
    if node is None:
        raise Conflict(_("The instance is on no node."))
    now = consumer_holdings(instance.pk)
    return ConsumerState(
        consumer_uuid=instance.pk,
        project_id=str(instance.project_id),
        user_id=str(instance.user_id),
        consumer_type="INSTANCE",
        resources={node: wanted},
        generation=now.generation if now is not None else None,
        limits=_group_count(instance.pk, node),
    )


def _group_count(instance_id: uuid.UUID, node: uuid.UUID) -> tuple[CountLimit, ...]:
    """The count of the instance as a member of its group on its host, as a claim of the scheduler makes it.

    There is no limit here: it runs there whatever the rule of the group says, and the next claim must know.
    """
    members = ServerGroupMember.objects.filter(instance_uuid=instance_id).values_list("group_id", "group__policy")
    keys = [group_count_key(pk, policy) for pk, policy in members]
    return tuple(CountLimit(node, key, MAX_INT) for key in keys if key is not None)
