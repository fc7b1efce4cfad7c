"""Nodes of which Placement offers something else than their agents reported, and putting that right."""

from dataclasses import dataclass
from uuid import UUID

from django.db import transaction

from placement.domain import InventorySpec
from placement.selectors import fleet_usage, provider_views
from placement.selectors.providers import provider_traits_by_uuid
from scheduling.fleet.selectors.hosts import host_nodes
from scheduling.fleet.services.providers import inventories_wanted, node_provider_sync
from scheduling.models import ComputeNode

STATUS_DISABLED = "COMPUTE_STATUS_DISABLED"


@dataclass(frozen=True, slots=True)
class InventoryDrift:
    """One node. `differences` are phrases such as 'VCPU: total 4, reported 8'."""

    node_id: UUID
    node: str
    host: str
    differences: tuple[str, ...]


def inventory_drifts() -> list[InventoryDrift]:
    """Nodes with a provider whose inventories, or whose disabled status, are not what they should be. Four queries."""
    nodes = list(host_nodes())
    ids = {node.id for node in nodes}
    usage, traits = fleet_usage(ids), provider_traits_by_uuid(ids)
    known = {view.uuid for view in provider_views(ids)}
    found = []
    for node in nodes:
        if node.id not in known:
            continue
        its = usage.get(node.id, {})
        present = {name: each.spec for name, each in its.items()}
        said = _differences(present, inventories_wanted(node, its))
        said += _status(is_stated=STATUS_DISABLED in traits.get(node.id, set()), is_disabled=node.service.disabled)
        if said:
            found.append(InventoryDrift(node.id, node.hypervisor_hostname, node.host, tuple(said)))
    return found


def inventory_restore(*, node_id: UUID) -> bool:
    """Let Placement offer what the agent reported last; False when the node is gone. Raises Placement's refusals."""
    with transaction.atomic():
        node = ComputeNode.objects.select_related("service").select_for_update(of=("self",)).filter(pk=node_id).first()
        if node is None:
            return False
        node_provider_sync(node=node, disabled=node.service.disabled)
    return True


def _differences(present: dict[str, InventorySpec], wanted: dict[str, InventorySpec]) -> list[str]:
    said = []
    for name in sorted({*present, *wanted}):
        now, then = present.get(name), wanted.get(name)
        if now == then:
            continue
        if now is None or then is None:
            said.append(f"{name}: {_total(now)}, reported {_total(then)}")
            continue
        said += [
            f"{name}: {field} {getattr(now, field):g}, should be {getattr(then, field):g}"
            for field in ("total", "reserved", "min_unit", "max_unit", "step_size", "allocation_ratio")
            if getattr(now, field) != getattr(then, field)
        ]
    return said


def _total(spec: InventorySpec | None) -> str:
    return "none" if spec is None else f"total {spec.total}"


def _status(*, is_stated: bool, is_disabled: bool) -> list[str]:
    if is_stated == is_disabled:
        return []
    stated, state = "stated" if is_stated else "not stated", "disabled" if is_disabled else "enabled"
    return [f"{STATUS_DISABLED} is {stated}, the host is {state}"]
