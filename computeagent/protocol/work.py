"""Work that agents take: what it is, the lease on it, and the order that comes with it."""

from dataclasses import dataclass, field
from enum import StrEnum

from computeagent.protocol.bounds import Amount, Count, Name, Seconds, Text, Uuid, UuidOrNone, Word
from computeagent.protocol.guests import GuestSpec
from computeagent.protocol.power import PowerState


class WorkKind(StrEnum):
    """What an agent can be asked to do to one instance. Wakeups carry nothing outside this list."""

    BUILD = "build"
    DELETE = "delete"
    START = "start"
    STOP = "stop"
    REBOOT = "reboot"
    REBOOT_SOFT = "reboot_soft"
    PAUSE = "pause"
    UNPAUSE = "unpause"
    SUSPEND = "suspend"
    RESUME = "resume"
    SOFT_DELETE = "soft_delete"
    RESTORE = "restore"
    SNAPSHOT = "snapshot"
    BACKUP = "backup"
    SHELVE = "shelve"
    SHELVE_OFFLOAD = "shelve_offload"
    UNSHELVE = "unshelve"
    REBUILD = "rebuild"
    RESCUE = "rescue"
    UNRESCUE = "unrescue"
    CHANGE_PASSWORD = "change_password"  # noqa: S105 - the name of the work
    TRIGGER_CRASH_DUMP = "trigger_crash_dump"
    SCREENSHOT = "screenshot"
    ATTACH_INTERFACE = "attach_interface"
    DETACH_INTERFACE = "detach_interface"
    ATTACH_VOLUME = "attach_volume"
    DETACH_VOLUME = "detach_volume"


@dataclass(frozen=True, slots=True)
class WorkWakeup:
    """A wake-up: look at this work. Says nothing else; may be late, lost or doubled."""

    kind: WorkKind
    work_id: str


class HostWakeupKind(StrEnum):
    """What a wake-up may be about that is no work."""

    NETWORKS = "networks"
    CONSOLES = "consoles"
    VOLUMES = "volumes"
    IMAGES = "images"


@dataclass(frozen=True, slots=True)
class HostWakeup:
    """A wake-up: ask for what this host is to have of networks or in its cache of images, which consoles wait for it,
    or which work on volumes. May be late, lost or doubled as well.
    """

    kind: HostWakeupKind = HostWakeupKind.NETWORKS


Wakeup = WorkWakeup | HostWakeup


@dataclass(frozen=True, slots=True)
class WorkContext:
    """What the control plane wrote on a lease so that no later write has to look it up. Agents hand it back unread.

    `kind` and `instance_uuid` are compared with the work's row by every write; of work on a volume, the latter is its
    subject: a volume, snapshot or backup. `number` counts the hosts that were
    tried for the instance, `action_id` is the row that steps are written under (0: none is open). `seal` proves to a
    door that it wrote all this, for this host and attempt.
    """

    kind: Word = ""
    instance_uuid: UuidOrNone = ""
    host: Name = ""
    number: Count = 1
    action_id: Amount = 0
    has_devices: bool = False
    has_first_boot: bool = False
    has_block_devices: bool = False
    seal: Text = ""


NO_WORK_CONTEXT = WorkContext()


@dataclass(frozen=True, slots=True)
class AgentLease:
    """The right to act on one piece of work; `attempt` is the fencing token."""

    work_id: Uuid
    attempt: Count
    owner: Name
    lease_s: Seconds
    work_context: WorkContext = NO_WORK_CONTEXT


@dataclass(frozen=True, slots=True)
class WorkOrder:
    """A taken piece of work. `lease.attempt` > 1 means an earlier attempt was cut off somewhere.

    `limits` came with the choice of this host: how much all of its instances may take together, as the filters wrote
    them (`memory_mb` MiB, `vcpu`, `disk_gb` GiB; names of others' plug-ins mean nothing here). `is_grouped`: the
    instance is in a server group, so a build has to ask for the late group check.
    """

    lease: AgentLease
    kind: WorkKind
    guest: GuestSpec
    request_id: str
    power_state_wanted: PowerState
    arguments: dict[str, str] = field(default_factory=dict)
    limits: dict[str, float] = field(default_factory=dict)
    is_grouped: bool = True
