"""The Protocol of what an agent may ask of the control plane: verbs with dataclasses in and out.

The only door between a hypervisor and the rest. `servers.agent_api` implements it in-process; another
transport can take its place without a change in the agent. Every verb that writes takes the `AgentLease` of its work
and raises `controlplane.kernel.errors.Fenced` when that lease is no longer the newest: the agent then stops at
once. Verbs without a lease raise Conflict when the host is served by another agent. Memory is MiB, disk GiB, times are
seconds; UUIDs travel as text.

Steps of a piece of work are written down in few transactions: what can hang is begun by `record_steps` before it is
begun on the host, and each write tells, in its own transaction, the steps that ended since the last one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol


class WorkKind(StrEnum):
    """What an agent can be asked to do to one instance. Wakeups carry nothing outside this list."""

    BUILD = "build"
    DELETE = "delete"
    START = "start"
    STOP = "stop"
    REBOOT = "reboot"


class GuestPowerState(StrEnum):
    """What the hypervisor says about a guest."""

    NOSTATE = "nostate"
    RUNNING = "running"
    PAUSED = "paused"
    SHUTDOWN = "shutdown"
    CRASHED = "crashed"
    SUSPENDED = "suspended"


class FailureClass(StrEnum):
    """Whose fault a failed build is: only HOST counts against the host; USER is not tried elsewhere."""

    HOST = "host"
    USER = "user"
    NETWORK = "network"
    POLICY = "policy"


@dataclass(frozen=True, slots=True)
class HostReport:
    """What a hypervisor is and has, as its driver sees it.

    `vcpus` counts the CPUs that floating vCPUs share, `dedicated_vcpus` those set aside to be pinned to.
    `numa_topology` has the cells without usage, None for a host that reports none. `pci_devices` are those that guests
    may have: objects with address, vendor_id, product_id, dev_type, numa_node, parent_address, label and tags.
    """

    hypervisor_hostname: str
    hypervisor_type: str
    hypervisor_version: int
    vcpus: int
    memory_mib: int
    disk_gib: int
    vcpus_used: int = 0
    memory_used_mib: int = 0
    disk_used_gib: int = 0
    disk_available_least_gib: int = 0
    running_guests: int = 0
    host_ip: str = "127.0.0.1"
    virt_type: str = "qemu"
    arch: str = "x86_64"
    cpu_info: dict[str, object] = field(default_factory=dict)
    supported_instances: tuple[tuple[str, str, str], ...] = ()
    traits: tuple[str, ...] = ()
    numa_topology: dict[str, object] | None = None
    pci_devices: tuple[dict[str, object], ...] = ()
    dedicated_vcpus: int = 0


@dataclass(frozen=True, slots=True)
class Registration:
    """The control plane's answer to a registration."""

    service_id: str
    compute_node_uuid: str
    disabled: bool
    report_interval_s: float
    lease_s: float


@dataclass(frozen=True, slots=True)
class WorkWakeup:
    """A wake-up: look at this work. Says nothing else; may be late, lost or doubled."""

    kind: WorkKind
    work_id: str


@dataclass(frozen=True, slots=True)
class HostUsage:
    """How much of a host its instances take, as the agent counts them: what was asked for, off or running."""

    vcpus: int
    memory_mib: int
    disk_gib: int
    running_guests: int


@dataclass(frozen=True, slots=True)
class WorkContext:
    """What the control plane wrote on a lease so that no later write has to look it up. Agents hand it back unread.

    `kind` and `instance_uuid` are compared with the work's row by every write. `number` counts the hosts that were
    tried for the instance, `action_id` is the row that steps are written under (0: none is open).
    """

    kind: str = ""
    instance_uuid: str = ""
    host: str = ""
    number: int = 1
    action_id: int = 0
    has_devices: bool = False


NO_WORK_CONTEXT = WorkContext()


@dataclass(frozen=True, slots=True)
class AgentLease:
    """The right to act on one piece of work; `attempt` is the fencing token."""

    work_id: str
    attempt: int
    owner: str
    lease_s: float
    work_context: WorkContext = NO_WORK_CONTEXT


@dataclass(frozen=True, slots=True)
class StepEnd:
    """A step that is over, told with the next write. Both times are seconds before that write by the agent's
    monotonic clock, so that a clock that jumps moves nothing; the control plane sets them on its own clock.
    """

    name: str
    began_ago_s: float
    ended_ago_s: float
    error: str = ""


@dataclass(frozen=True, slots=True)
class PortSpec:
    """A network interface of the guest; `network` is the hypervisor's own network name."""

    mac: str
    network: str


@dataclass(frozen=True, slots=True)
class GuestSpec:
    """All a driver needs to make one guest. Strings in it come from users: treat them as hostile.

    `numa_topology` is the guest as it was placed: host cells, pinned CPUs, page sizes; `pci_devices` are objects with
    the `address` of a device that is this guest's, its `alias` and `request_id`. `cpu_topology` has sockets, cores
    and threads; `realtime_vcpus` is a CPU list. `fault` says why flavor and image contradict: nothing can be built.
    `launch_index` is the guest's place in the batch that it was asked for with.
    """

    uuid: str
    name: str
    project_id: str
    vcpus: int
    memory_mib: int
    root_gib: int
    ephemeral_gib: int
    swap_mib: int
    image_id: str
    image_checksum: str
    image_size_bytes: int
    image_disk_format: str
    image_properties: dict[str, str] = field(default_factory=dict)
    extra_specs: dict[str, str] = field(default_factory=dict)
    metadata: dict[str, str] = field(default_factory=dict)
    user_data_base64: str = ""
    key_name: str = ""
    public_key: str = ""
    availability_zone: str = ""
    ports: tuple[PortSpec, ...] = ()
    numa_topology: dict[str, object] | None = None
    pci_devices: tuple[dict[str, str], ...] = ()
    cpu_topology: dict[str, int] | None = None
    realtime_vcpus: str = ""
    has_locked_memory: bool = False
    fault: str = ""
    launch_index: int = 0


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
    power_state_wanted: GuestPowerState
    arguments: dict[str, str] = field(default_factory=dict)
    limits: dict[str, float] = field(default_factory=dict)
    is_grouped: bool = True


@dataclass(frozen=True, slots=True)
class BuildFailure:
    """Why a build ended without a guest. Sent only after the host holds nothing of it any more."""

    failure_class: FailureClass
    step: str
    message: str
    details: str = ""


@dataclass(frozen=True, slots=True)
class InstanceOnHost:
    """An instance that the control plane places on the asking host."""

    uuid: str
    name: str
    vm_state: str
    task_state: str
    power_state: GuestPowerState
    has_open_work: bool
    guest: GuestSpec


@dataclass(frozen=True, slots=True)
class GuestFacts:
    """What is known of a guest once it runs. `vnc_socket` is the path of a UNIX socket on its host."""

    power_state: GuestPowerState
    addresses: dict[str, tuple[str, ...]] = field(default_factory=dict)
    vnc_socket: str = ""


@dataclass(frozen=True, slots=True)
class ReportedOrphan:
    """A guest on the hypervisor that no instance of this host explains."""

    uuid: str
    name: str
    power_state: GuestPowerState


@dataclass(frozen=True, slots=True)
class GuestReturn:
    """An instance that should run, what its guest was when the agent started, and the error if it did not come back."""

    uuid: str
    found: GuestPowerState
    error: str = ""


@dataclass(frozen=True, slots=True)
class GroupVerdict:
    """Answer of the late server group check; `reason` names members and limit when not allowed."""

    allowed: bool
    reason: str = ""


class Conductor(Protocol):
    """What an agent may ask. Calls raise `Unavailable` while the control plane cannot be reached."""

    def register(self, *, host: str, report: HostReport) -> Registration:
        """Create or update service, compute node, host mapping, provider, inventory and traits. Idempotent.

        Raises Conflict when the hypervisor is another host's.
        """

    def heartbeat(self, *, host: str) -> Registration:
        """Say 'alive'. The answer says whether the host is disabled. Raises NotFound: register first."""

    def usage(self, *, host: str, usage: HostUsage) -> None:
        """How much is taken now; between two registrations, and nothing else of a report. No node, no effect."""

    def wakeups(self, *, host: str, timeout_s: float) -> list[WorkWakeup]:
        """Wait up to `timeout_s` for wake-ups of this host; empty when none came."""

    def waiting_work(self, *, host: str) -> list[WorkWakeup]:
        """All work of this host that nobody holds a valid lease on: what to look at after a start."""

    def take(self, *, host: str, work_id: str, owner: str) -> WorkOrder | None:
        """Take the work: attempt + 1 and a lease. None when it is done, cancelled, leased, or another host's."""

    def renew(self, *, lease: AgentLease) -> None:
        """Prolong the lease. Raises Fenced."""

    def record_steps(self, *, lease: AgentLease, ended: Sequence[StepEnd] = (), begins: str = "") -> None:
        """These steps are over and, unless empty, `begins` begins: event rows, task_state and lease. Raises Fenced."""

    def group_check(self, *, lease: AgentLease) -> GroupVerdict:
        """Late server group check: may this instance be on this host?"""

    def image_chunks(self, *, lease: AgentLease) -> Iterator[bytes]:
        """The bytes of the image of this work's instance."""

    def build_done(self, *, lease: AgentLease, facts: GuestFacts, ended: Sequence[StepEnd] = ()) -> None:
        """The guest runs: ACTIVE, launched_at, addresses. Raises Fenced."""

    def build_failed(self, *, lease: AgentLease, failure: BuildFailure, ended: Sequence[StepEnd] = ()) -> None:
        """The build failed and the host released everything: next alternate, or ERROR. Raises Fenced."""

    def action_done(self, *, lease: AgentLease, facts: GuestFacts, ended: Sequence[StepEnd] = ()) -> None:
        """Start, stop or reboot is done and this is the power state now. Raises Fenced."""

    def action_failed(
        self, *, lease: AgentLease, step: str, message: str, details: str = "", ended: Sequence[StepEnd] = ()
    ) -> None:
        """The action failed; the instance keeps what it had, or goes to ERROR. Raises Fenced."""

    def deleted(self, *, lease: AgentLease, ended: Sequence[StepEnd] = ()) -> None:
        """Nothing of the guest is left on the host: allocations, mappings and rows may go. Raises Fenced."""

    def instances_on_host(self, *, host: str) -> list[InstanceOnHost]:
        """Every instance placed on this host that is not deleted."""

    def power_states(self, *, host: str, facts: dict[str, GuestFacts]) -> None:
        """Periodic truth from the hypervisor, by instance uuid; ignored for instances with open work."""

    def console_outputs(self, *, host: str, outputs: dict[str, str]) -> None:
        """The end of the serial logs that changed since last sent, by instance uuid. The API serves it from rows."""

    def give_back(self, *, lease: AgentLease, reason: str) -> None:
        """The agent ends and the work is not done: anybody may take it at once, no attempt is lost. Raises Fenced."""

    def orphan_guests(self, *, host: str, guests: Sequence[ReportedOrphan], not_removed_because: str = "") -> list[str]:
        """All guests here that no instance explains, each time all of them; empty when there is none (any more).

        `not_removed_because` says why this agent removes none, if so. The answer: those whose time has come; each must
        be asked for by `release_guest` under its lock before it is removed.
        """

    def release_guest(self, *, host: str, guest_uuid: str) -> bool:
        """Whether this orphan guest may be removed now: still nobody's here, and listed for long enough."""

    def guests_returned(self, *, host: str, returns: Sequence[GuestReturn]) -> None:
        """After a start: which guests that should run were not running, and what became of them."""
