"""Kinds of drift between instance, allocation, guest and host: what each means, and who puts it right."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from servers.repair.domain.placement_findings import AuditKind
from servers.repair.domain.power_rules import PowerHeal


class DriftKind(StrEnum):
    """What is out of step. Those about allocations bear the names of `AuditKind`."""

    ORPHAN_GUEST = "orphan_guest"
    """A guest on a host that no instance explains."""
    GUEST_MISSING = "guest_missing"
    """An instance that should have a guest, and its host has none."""
    GUEST_RUNS = "guest_runs"
    """The guest runs, and the instance is to be off."""
    GUEST_OFF = "guest_off"
    """The guest is off, and the instance is to run."""
    GUEST_CRASHED = "guest_crashed"
    """The guest crashed and the instance is stopped since; nobody has started it again."""
    LOST_TASK = "lost_task"
    """A task stands and no open work will ever end it."""
    UNKNOWN_HOST = "unknown_host"
    """An instance on a host that never registered, or was removed."""
    INVENTORY = "inventory"
    """Placement offers other amounts of a node than its agent reported."""
    ORPHANED_ALLOCATIONS = AuditKind.ORPHANED_ALLOCATIONS.value
    OTHER_HOST = AuditKind.OTHER_HOST.value
    OTHER_AMOUNTS = AuditKind.OTHER_AMOUNTS.value
    NO_ALLOCATIONS = AuditKind.NO_ALLOCATIONS.value
    USED_DIFFERS = AuditKind.USED_DIFFERS.value
    NO_INVENTORY = AuditKind.NO_INVENTORY.value
    OVERCOMMITTED = AuditKind.OVERCOMMITTED.value
    EMPTY_CONSUMER = AuditKind.EMPTY_CONSUMER.value
    NODE_WITHOUT_PROVIDER = AuditKind.NODE_WITHOUT_PROVIDER.value
    PROVIDER_WITHOUT_NODE = AuditKind.PROVIDER_WITHOUT_NODE.value
    GENERATION = AuditKind.GENERATION.value
    ROOT_POINTER = AuditKind.ROOT_POINTER.value
    CHANGE_STAMP = AuditKind.CHANGE_STAMP.value


GUEST_DRIFTS: dict[PowerHeal, DriftKind] = {
    PowerHeal.FOLLOW: DriftKind.GUEST_OFF,
    PowerHeal.STOP: DriftKind.GUEST_RUNS,
    PowerHeal.REBUILD_GUEST: DriftKind.GUEST_MISSING,
}
"""What a guest that is not as its instance's state says is called, by what is done about it."""


@dataclass(frozen=True, slots=True)
class Drift:
    """One thing out of step, as it is now. Either `heal` says what would be done, or `obstacle` why nothing can be.

    `key` names it for as long as it lasts. `since` is when it was first noticed (None: only just now), `heals_at`
    when it is put right without being asked for (None: never, or not yet known). `asked_by` is who asked for the
    heal that is under way.
    """

    key: str
    kind: DriftKind
    subject: str
    found: str
    evidence: Mapping[str, Any] = field(default_factory=dict)
    heal: str = ""
    obstacle: str = ""
    instance_id: UUID | None = None
    host: str = ""
    since: datetime | None = None
    heals_at: datetime | None = None
    asked_by: str = ""

    @property
    def can_heal(self) -> bool:
        """Whether asking for the heal now would do something."""
        return bool(self.heal) and not self.obstacle and not self.asked_by


KIND_LABELS: dict[DriftKind, str] = {
    DriftKind.ORPHAN_GUEST: "Guest without instance",
    DriftKind.GUEST_MISSING: "Instance without guest",
    DriftKind.GUEST_RUNS: "Guest runs, should be off",
    DriftKind.GUEST_OFF: "Guest is off, should run",
    DriftKind.GUEST_CRASHED: "Guest crashed",
    DriftKind.LOST_TASK: "Task that nobody works on",
    DriftKind.UNKNOWN_HOST: "Instance on an unknown host",
    DriftKind.INVENTORY: "Inventory is not what the host reported",
    DriftKind.ORPHANED_ALLOCATIONS: "Claim without owner",
    DriftKind.OTHER_HOST: "Allocations on another host",
    DriftKind.OTHER_AMOUNTS: "Allocations differ from the flavor",
    DriftKind.NO_ALLOCATIONS: "Instance without allocations",
    DriftKind.USED_DIFFERS: "Counter differs from the allocations",
    DriftKind.NO_INVENTORY: "Allocation without inventory",
    DriftKind.OVERCOMMITTED: "More allocated than there is",
    DriftKind.EMPTY_CONSUMER: "Consumer that holds nothing",
    DriftKind.NODE_WITHOUT_PROVIDER: "Compute node without provider",
    DriftKind.PROVIDER_WITHOUT_NODE: "Provider without compute node",
    DriftKind.GENERATION: "Generation below 0",
    DriftKind.ROOT_POINTER: "Provider with a wrong root",
    DriftKind.CHANGE_STAMP: "Change stamp of the future",
}
"""For headings and filters."""

AUTOMATIC: frozenset[DriftKind] = frozenset(
    {
        DriftKind.ORPHAN_GUEST,
        DriftKind.GUEST_MISSING,
        DriftKind.GUEST_RUNS,
        DriftKind.GUEST_OFF,
        DriftKind.LOST_TASK,
        DriftKind.INVENTORY,
        DriftKind.ORPHANED_ALLOCATIONS,
        DriftKind.OTHER_HOST,
        DriftKind.OTHER_AMOUNTS,
        DriftKind.NO_ALLOCATIONS,
        DriftKind.USED_DIFFERS,
        DriftKind.EMPTY_CONSUMER,
        DriftKind.NODE_WITHOUT_PROVIDER,
    }
)
"""Put right without being asked for, once they have lasted; the others wait for a person."""


def drift_key(kind: DriftKind, *parts: object) -> str:
    """`kind:part:part`, the same for as long as the drift lasts."""
    return ":".join([kind.value, *(str(part) for part in parts)])
