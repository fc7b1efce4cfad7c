"""Drift that Placement's audit and the nodes' inventories show, in the form in which drift is listed and healed."""

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any
from uuid import UUID

from django.core.serializers.json import DjangoJSONEncoder

from controlplane.kernel.ids import parse_uuid
from controlplane.kernel.texts import phrase as _
from scheduling.fleet.selectors.hosts import host_nodes
from scheduling.fleet.services.inventory_drift import InventoryDrift, inventory_drifts
from servers.models import Instance
from servers.repair.domain.drift import Drift, DriftKind, drift_key
from servers.repair.domain.placement_findings import AuditFinding, AuditKind
from servers.repair.selectors.drift import drift_source_register
from servers.repair.selectors.guest_volume_drift import guest_volume_drifts
from servers.repair.selectors.network_drift import network_drifts
from servers.repair.selectors.ovn_drift import ovn_drifts
from servers.repair.selectors.volume_drift import volume_drifts
from servers.repair.services.placement_audit import finding_of_instance, placement_findings

TOGETHER = 100
"""Findings whose instances are read in one query: few, as each may have taken several queries to be sure of."""
OF_INSTANCES = frozenset({DriftKind.OTHER_HOST, DriftKind.OTHER_AMOUNTS, DriftKind.NO_ALLOCATIONS})
NETWORK_KINDS = frozenset(
    {DriftKind.NETWORKS_BEHIND, DriftKind.NETWORK_PROBLEM, DriftKind.PORT_ELSEWHERE, DriftKind.PORT_OWNERLESS}
)
OVN_KINDS = frozenset({DriftKind.OVN_AWAY, DriftKind.OVN_BEHIND, DriftKind.OVN_REFUSED})
STORAGE_KINDS = frozenset(
    {
        DriftKind.VOLUME_ORPHAN,
        DriftKind.VOLUME_MISSING,
        DriftKind.ATTACHMENT_OWNERLESS,
        DriftKind.ATTACHMENT_STUCK,
        DriftKind.POOL_PROBLEM,
        DriftKind.POOL_UNREACHED,
        DriftKind.VOLUME_KEY_UNREADABLE,
    }
)
GUEST_VOLUME_KINDS = frozenset({DriftKind.VOLUME_NOT_IN_GUEST, DriftKind.VOLUME_IN_GUEST_ONLY})
ALLOCATION_KINDS = frozenset(DriftKind(kind.value) for kind in AuditKind)


def drift_sources_register() -> None:
    """Register these sources. Called when the apps are ready."""
    drift_source_register("networks", kinds=NETWORK_KINDS, source=network_drifts)
    drift_source_register("ovn", kinds=OVN_KINDS, source=ovn_drifts)
    drift_source_register("volumes", kinds=STORAGE_KINDS, source=volume_drifts)
    drift_source_register("volumes of guests", kinds=GUEST_VOLUME_KINDS, source=guest_volume_drifts)
    drift_source_register("placement", kinds=ALLOCATION_KINDS, source=_allocations)
    drift_source_register("inventories", kinds={DriftKind.INVENTORY}, source=_inventories)


def finding_of(key: str) -> AuditFinding | None:
    """The finding behind the key of a drift, as the audit sees it now."""
    kind, _, about = key.partition(":")
    if kind in OF_INSTANCES and (instance_id := parse_uuid(about)):
        found = finding_of_instance(instance_id)
        return found if found is not None and _key(found) == key else None
    return next((finding for finding in placement_findings() if _key(finding) == key), None)


def _allocations() -> Iterator[Drift]:
    hosts = dict(host_nodes().values_list("id", "host"))
    walk = placement_findings()
    while findings := list(islice(walk, TOGETHER)):
        ours = _instances_of(findings)
        yield from (_allocation(finding, ours, hosts) for finding in findings)


def _allocation(finding: AuditFinding, ours: Mapping[Any, Instance], hosts: Mapping[UUID, str]) -> Drift:
    instance = ours.get(finding.consumer_uuid)
    node_host = hosts.get(finding.provider_uuid, "") if finding.provider_uuid else ""
    sentence = finding.message[:1].upper() + finding.message[1:].removesuffix(".") + "."
    return Drift(
        key=_key(finding),
        kind=DriftKind(finding.kind.value),
        subject=instance.name if instance is not None else finding.subject,
        found=sentence,
        evidence=_evidence(finding),
        heal="" if finding.fix is None else finding.fix.action,
        obstacle=finding.obstacle,
        instance_id=instance.pk if instance is not None else None,
        host=instance.host if instance is not None else node_host,
    )


def _key(finding: AuditFinding) -> str:
    """The key of a finding, consumer first: people search for the owner of a claim."""
    kind = DriftKind(finding.kind.value)
    about = finding.consumer_uuid or finding.provider_uuid
    return drift_key(kind, about, *([finding.resource_class] if finding.resource_class else []))


def _instances_of(findings: Iterable[AuditFinding]) -> dict[Any, Instance]:
    consumers = [one.consumer_uuid for one in findings if one.consumer_uuid is not None]
    return {
        one.pk: one
        for one in Instance.objects.filter(pk__in=consumers, deleted_at__isnull=True).only("id", "name", "host")
    }


def _evidence(finding: AuditFinding) -> dict[str, Any]:
    """The values that were compared, as JSON can hold them."""
    details = dict(finding.seen) | {"providers": list(finding.providers), "resource_class": finding.resource_class}
    if finding.fix is not None:
        details |= {"reason": finding.fix.reason, "before": finding.fix.before, "after": finding.fix.after}
    given = {name: value for name, value in details.items() if value not in ("", [], None)}
    found: dict[str, Any] = json.loads(json.dumps(given, cls=DjangoJSONEncoder))
    return found


def _inventories() -> Iterator[Drift]:
    return (_inventory(one) for one in inventory_drifts())


def _inventory(one: InventoryDrift) -> Drift:
    return Drift(
        key=drift_key(DriftKind.INVENTORY, one.node_id),
        kind=DriftKind.INVENTORY,
        subject=one.node,
        found=_(
            "Placement offers of node {node} something else than it reported: {differences}.",
            node=one.node,
            differences="; ".join(one.differences),
        ),
        evidence={"host": one.host, "differences": list(one.differences)},
        heal=_("State what the node's agent reported last."),
        host=one.host,
    )
