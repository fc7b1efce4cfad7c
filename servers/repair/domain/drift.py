"""Kinds of drift between instance, allocation, guest and host: what each means, and who puts it right."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from controlplane.kernel.texts import gettext_noop
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
    SAFE_MODE = "safe_mode"
    """A host destroys and starts nothing, for its hypervisor's answers contradict each other."""
    INVENTORY = "inventory"
    """Placement offers other amounts of a node than its agent reported."""
    NETWORKS_BEHIND = "networks_behind"
    """A host that has not in force what it is to have of networks, and has reported nothing for a while."""
    NETWORK_PROBLEM = "network_problem"
    """A host could not do all that it is to have of networks. It tries again by itself."""
    PORT_ELSEWHERE = "port_elsewhere"
    """A port that is bound to another host than its instance is on."""
    PORT_OWNERLESS = "port_ownerless"
    """A port of an instance that is not there."""
    VOLUME_NOT_IN_GUEST = "volume_not_in_guest"
    """A volume that is attached to an instance, and that its guest runs without."""
    VOLUME_IN_GUEST_ONLY = "volume_in_guest_only"
    """A volume that a guest has, and that is not attached to its instance."""
    OVN_AWAY = "ovn_away"
    """OVN's northbound database is not reached, or not known: networks of kind OVN stay as they are."""
    OVN_BEHIND = "ovn_behind"
    """Changes of networks that OVN should have by now."""
    OVN_REFUSED = "ovn_refused"
    """OVN refused what rows say of a network, port, group or router. It is tried again by itself."""
    VOLUME_ORPHAN = "volume_orphan"
    """Bytes of a volume, or of a snapshot, that no row explains."""
    VOLUME_MISSING = "volume_missing"
    """A volume, or a snapshot, whose bytes are not in its pool."""
    ATTACHMENT_OWNERLESS = "attachment_ownerless"
    """A volume that is attached to an instance that is not there."""
    ATTACHMENT_STUCK = "attachment_stuck"
    """A volume that is said to be attached, or detached, right now, and nobody works on it."""
    POOL_PROBLEM = "pool_problem"
    """A host that cannot use a pool that it is meant to reach."""
    POOL_UNREACHED = "pool_unreached"
    """A pool with volumes, of which no host that is up can do anything."""
    VOLUME_KEY_UNREADABLE = "volume_key_unreadable"
    """An encrypted volume or backup whose passphrase no key of the installation opens."""
    MORE_OF_HOST = "more_of_host"
    """Of one host there is more than is listed one by one."""
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
    heal that is under way. `besides`: how many more of the kind its host (or pool) has, which no row holds; the same in
    each of them.
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
    besides: int = 0

    @property
    def can_heal(self) -> bool:
        """Whether asking for the heal now would do something."""
        return bool(self.heal) and not self.obstacle and not self.asked_by


KIND_LABELS: dict[DriftKind, str] = {
    DriftKind.ORPHAN_GUEST: gettext_noop("Guest without instance"),
    DriftKind.GUEST_MISSING: gettext_noop("Instance without guest"),
    DriftKind.GUEST_RUNS: gettext_noop("Guest runs, should be off"),
    DriftKind.GUEST_OFF: gettext_noop("Guest is off, should run"),
    DriftKind.GUEST_CRASHED: gettext_noop("Guest crashed"),
    DriftKind.LOST_TASK: gettext_noop("Task that nobody works on"),
    DriftKind.UNKNOWN_HOST: gettext_noop("Instance on an unknown host"),
    DriftKind.SAFE_MODE: gettext_noop("Host in safe mode"),
    DriftKind.INVENTORY: gettext_noop("Inventory is not what the host reported"),
    DriftKind.NETWORKS_BEHIND: gettext_noop("Host is behind with its networks"),
    DriftKind.NETWORK_PROBLEM: gettext_noop("Host could not do its networks"),
    DriftKind.PORT_ELSEWHERE: gettext_noop("Port on another host than its instance"),
    DriftKind.PORT_OWNERLESS: gettext_noop("Port without instance"),
    DriftKind.VOLUME_NOT_IN_GUEST: gettext_noop("Guest without its volume"),
    DriftKind.VOLUME_IN_GUEST_ONLY: gettext_noop("Guest with a volume that is not its own"),
    DriftKind.OVN_AWAY: gettext_noop("OVN is not reached"),
    DriftKind.OVN_BEHIND: gettext_noop("OVN is behind"),
    DriftKind.OVN_REFUSED: gettext_noop("OVN refused something"),
    DriftKind.VOLUME_ORPHAN: gettext_noop("Volume's bytes without a row"),
    DriftKind.VOLUME_MISSING: gettext_noop("Volume without its bytes"),
    DriftKind.ATTACHMENT_OWNERLESS: gettext_noop("Volume attached to no instance"),
    DriftKind.ATTACHMENT_STUCK: gettext_noop("Volume that comes or goes and nobody works on it"),
    DriftKind.POOL_PROBLEM: gettext_noop("Host cannot use a pool"),
    DriftKind.POOL_UNREACHED: gettext_noop("Pool that no host reaches"),
    DriftKind.VOLUME_KEY_UNREADABLE: gettext_noop("Passphrase that no key opens"),
    DriftKind.MORE_OF_HOST: gettext_noop("More of one host than is listed"),
    DriftKind.ORPHANED_ALLOCATIONS: gettext_noop("Claim without owner"),
    DriftKind.OTHER_HOST: gettext_noop("Allocations on another host"),
    DriftKind.OTHER_AMOUNTS: gettext_noop("Allocations differ from the flavor"),
    DriftKind.NO_ALLOCATIONS: gettext_noop("Instance without allocations"),
    DriftKind.USED_DIFFERS: gettext_noop("Counter differs from the allocations"),
    DriftKind.NO_INVENTORY: gettext_noop("Allocation without inventory"),
    DriftKind.OVERCOMMITTED: gettext_noop("More allocated than there is"),
    DriftKind.EMPTY_CONSUMER: gettext_noop("Consumer that holds nothing"),
    DriftKind.NODE_WITHOUT_PROVIDER: gettext_noop("Compute node without provider"),
    DriftKind.PROVIDER_WITHOUT_NODE: gettext_noop("Provider without compute node"),
    DriftKind.GENERATION: gettext_noop("Generation below 0"),
    DriftKind.ROOT_POINTER: gettext_noop("Provider with a wrong root"),
    DriftKind.CHANGE_STAMP: gettext_noop("Change stamp of the future"),
}
"""For headings and filters."""

AUTOMATIC: frozenset[DriftKind] = frozenset(
    {
        DriftKind.ORPHAN_GUEST,
        DriftKind.VOLUME_ORPHAN,
        DriftKind.ATTACHMENT_OWNERLESS,
        DriftKind.ATTACHMENT_STUCK,
        DriftKind.GUEST_MISSING,
        DriftKind.GUEST_RUNS,
        DriftKind.GUEST_OFF,
        DriftKind.LOST_TASK,
        DriftKind.NETWORKS_BEHIND,
        DriftKind.PORT_ELSEWHERE,
        DriftKind.PORT_OWNERLESS,
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
