"""The Protocol of what an agent may ask of the control plane: verbs with dataclasses in and out.

The only door between a hypervisor and the rest: `computeagent.transport` asks over HTTP, `servers.agent_door` answers
there, and `servers.agent_api` is what stands behind it, which tests ask in-process. Every verb that writes takes the
`AgentLease` of its work and raises `controlplane.kernel.errors.Fenced` when that lease is no longer the newest: the
agent then stops at once. Verbs without a lease raise Conflict when the host is served by another agent. Memory is MiB,
disk GiB, times are seconds; UUIDs travel as text.

Steps of a piece of work are written down in few transactions: what can hang is begun by `record_steps` before it is
begun on the host, and each write tells, in its own transaction, the steps that ended since the last one.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from computeagent.protocol.guests import GuestCounters, GuestFacts, GuestOnHypervisor, GuestReturn, InstanceOnHost
from computeagent.protocol.hosts import HostReport, HostUsage, Registration
from computeagent.protocol.steps import BuildFailure, StepEnd
from computeagent.protocol.work import AgentLease, WorkOrder, WorkWakeup


@dataclass(frozen=True, slots=True)
class GroupVerdict:
    """Answer of the late server group check; `reason` names members and limit when not allowed."""

    allowed: bool
    reason: str = ""


class Conductor(Protocol):
    """What an agent may ask. Calls raise `Unavailable` while the control plane cannot be reached."""

    def host_own(self, *, host: str, agent_id: str, guests: Collection[str]) -> None:
        """Be the one agent of `host`, whose hypervisor has `guests`; asked before all else and with each heartbeat.

        `agent_id` lives in the agent's state directory. From then on every verb that writes says in its own statement
        that the host is still this agent's. Raises Conflict when it is another one's.
        """

    def void_leases(self, *, host: str, owner_prefix: str) -> None:
        """After a start: what earlier runs on this host (owners with this prefix) were cut off from may be taken."""

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

    def take(self, *, host: str, work_id: str, owner: str, token: str = "") -> WorkOrder | None:
        """Take the work: attempt + 1 and a lease. None when it is done, cancelled, leased, or another host's.

        `token` is made for this taking alone. Asked again with the same, since the answer was lost, the same attempt is
        the answer for as long as its lease holds; an agent that took the work and let go of it makes another token.
        """

    def renew(self, *, lease: AgentLease) -> None:
        """Prolong the lease. Raises Fenced."""

    def record_steps(self, *, lease: AgentLease, ended: Sequence[StepEnd] = (), begins: str = "") -> None:
        """These steps are over and, unless empty, `begins` begins: event rows, task_state and lease. Raises Fenced."""

    def group_check(self, *, lease: AgentLease) -> GroupVerdict:
        """Late server group check: may this instance be on this host?"""

    def image_chunks(self, *, lease: AgentLease, offset: int = 0) -> Iterator[bytes]:
        """The bytes of the image of this work's instance, from `offset` on. Raises NotFound, Fenced."""

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

    def guest_counters(self, *, host: str, counters: dict[str, GuestCounters]) -> None:
        """What the running guests have used until now, by instance uuid; those of other hosts are dropped.

        A control plane of the release before has no such verb: it answers NotFound.
        """

    def console_outputs(self, *, host: str, outputs: dict[str, str]) -> None:
        """The end of the serial logs that changed since last sent, by instance uuid. The API serves it from rows."""

    def give_back(self, *, lease: AgentLease, reason: str) -> None:
        """The agent ends and the work is not done: anybody may take it at once, no attempt is lost. Raises Fenced."""

    def orphan_guests(
        self, *, host: str, guests: Sequence[GuestOnHypervisor], not_removed_because: str = ""
    ) -> list[str]:
        """All guests here that no instance explains, each time all of them; empty when there is none (any more).

        `not_removed_because` says why this agent removes none, if so. The answer: those whose time has come; each must
        be asked for by `release_guest` under its lock before it is removed.
        """

    def release_guest(self, *, host: str, guest_uuid: str) -> bool:
        """Whether this orphan guest may be removed now: still nobody's here, and listed for long enough."""

    def guests_returned(self, *, host: str, returns: Sequence[GuestReturn]) -> None:
        """After a start: which guests that should run were not running, and what became of them."""
