"""The Protocol of what an agent may ask of the control plane: verbs with dataclasses in and out.

The only door between a hypervisor and the rest: `computeagent.transport` asks over HTTP, `servers.agent_door` answers
there, and `servers.agent_api` is what stands behind it, which tests ask in-process. Every verb that writes takes the
`AgentLease` of its work and raises `controlplane.kernel.errors.Fenced` when that lease is no longer the newest: the
agent then stops at once. Verbs without a lease raise Conflict when the host is served by another agent. Memory is MiB,
disk GiB, times are seconds; UUIDs travel as text. How long texts and lists may be, and how large numbers,
their types say (`computeagent.protocol.bounds`).

Steps of a piece of work are written down in few transactions: what can hang is begun by `record_steps` before it is
begun on the host, and each write tells, in its own transaction, the steps that ended since the last one.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Protocol

from msgspec import Meta

from computeagent.protocol.bounds import (
    CONSOLES_MAX,
    CUT,
    GUESTS_MAX,
    GUESTS_REPORTED_MAX,
    IMAGES_MAX,
    POOLS_MAX,
    STEPS_MAX,
    Amount,
    ConsoleText,
    Count,
    Details,
    HostName,
    Name,
    Seconds,
    Sentence,
    Signed,
    StepName,
    Uuid,
    UuidOrNone,
    Word,
)
from computeagent.protocol.consoles import ConsoleOrder
from computeagent.protocol.guest_config import FirstBoot
from computeagent.protocol.guests import GuestCounters, GuestFacts, GuestOnHypervisor, GuestReturn, InstanceOnHost
from computeagent.protocol.hosts import HostMeasures, HostReport, HostUsage, Registration
from computeagent.protocol.images import CachedImage, CacheState, WantedImage
from computeagent.protocol.metadata import PASSWORD_MAX_BYTES, GuestDocuments
from computeagent.protocol.networks import HostNetworks, NetworksApplied
from computeagent.protocol.screens import MAX_PNG_BYTES
from computeagent.protocol.steps import BuildFailure, FailureClass, StepEnd
from computeagent.protocol.uploads import UploadPlace
from computeagent.protocol.volume_work import VolumeOrder
from computeagent.protocol.volumes import VolumeFacts, VolumesOnHost
from computeagent.protocol.work import AgentLease, Wakeup, WorkOrder, WorkWakeup

GuestNames = Annotated[Collection[Uuid], Meta(max_length=GUESTS_MAX, extra=CUT)]
Ended = Annotated[Sequence[StepEnd], Meta(max_length=STEPS_MAX)]
FactsByGuest = Annotated[dict[Uuid, GuestFacts], Meta(max_length=GUESTS_REPORTED_MAX)]
CountersByGuest = Annotated[dict[Uuid, GuestCounters], Meta(max_length=GUESTS_REPORTED_MAX)]
Returns = Annotated[Sequence[GuestReturn], Meta(max_length=GUESTS_REPORTED_MAX)]
Orphans = Annotated[Sequence[GuestOnHypervisor], Meta(max_length=GUESTS_MAX)]
"""More than ORPHANS_MAX come only from an agent of the release before."""
ConsoleLogs = Annotated[dict[Uuid, ConsoleText], Meta(max_length=CONSOLES_MAX)]
ImagesHere = Annotated[Sequence[CachedImage], Meta(max_length=IMAGES_MAX, extra=CUT)]
PoolContents = Annotated[Sequence[VolumesOnHost], Meta(max_length=POOLS_MAX)]
Digests = Annotated[dict[Uuid, Word], Meta(max_length=GUESTS_MAX, extra=CUT)]
Picture = Annotated[bytes, Meta(max_length=MAX_PNG_BYTES)]
Password = Annotated[str, Meta(max_length=PASSWORD_MAX_BYTES)]


@dataclass(frozen=True, slots=True)
class GroupVerdict:
    """Answer of the late server group check; `reason` names members and limit when not allowed."""

    allowed: bool
    reason: str = ""


class Conductor(Protocol):
    """What an agent may ask. Calls raise `Unavailable` while the control plane cannot be reached."""

    def host_own(self, *, host: HostName, agent_id: Uuid, guests: GuestNames) -> None:
        """Be the one agent of `host`, whose hypervisor has `guests`; asked before all else, and with each heartbeat of
        a control plane that is not sparing.

        `agent_id` lives in the agent's state directory. From then on every verb that writes says in its own statement
        that the host is still this agent's. Raises Conflict when it is another one's.
        """

    def void_leases(self, *, host: HostName, owner_prefix: Name) -> None:
        """After a start: what earlier runs on this host (owners with this prefix) were cut off from may be taken."""

    def register(self, *, host: HostName, report: HostReport) -> Registration:
        """Create or update service, compute node, host mapping, provider, inventory and traits. Idempotent.

        Raises Conflict when the hypervisor is another host's.
        """

    def heartbeat(self, *, host: HostName) -> Registration:
        """Say 'alive'. The answer says whether the host is disabled. Raises NotFound: register first; and Conflict when
        the host is another agent's.
        """

    def measures(self, *, host: HostName, measures: HostMeasures) -> None:
        """The report stands as it was registered last, but for these. Raises NotFound: register.

        A control plane of the release before has no such verb: it answers NotFound, too.
        """

    def usage(self, *, host: HostName, usage: HostUsage) -> None:
        """How much is taken now; between two registrations, and nothing else of a report. No node, no effect."""

    def wakeups(self, *, host: HostName, timeout_s: Seconds) -> list[Wakeup]:
        """Wait up to `timeout_s` for wake-ups of this host; empty when none came."""

    def waiting_work(self, *, host: HostName) -> list[WorkWakeup]:
        """All work of this host that nobody holds a valid lease on: what to look at after a start."""

    def take(self, *, host: HostName, work_id: Uuid, owner: Name, token: Word = "") -> WorkOrder | None:
        """Take the work: attempt + 1 and a lease. None when it is done, cancelled, leased, or another host's.

        `token` is made for this taking alone. Asked again with the same, since the answer was lost, the same attempt is
        the answer for as long as its lease holds; an agent that took the work and let go of it makes another token.
        """

    def renew(self, *, lease: AgentLease) -> None:
        """Prolong the lease. Raises Fenced."""

    def record_steps(self, *, lease: AgentLease, ended: Ended = (), begins: StepName = "") -> None:
        """These steps are over and, unless empty, `begins` begins: event rows, task_state and lease. Raises Fenced."""

    def group_check(self, *, lease: AgentLease) -> GroupVerdict:
        """Late server group check: may this instance be on this host?"""

    def image_chunks(self, *, lease: AgentLease, offset: Amount = 0, image_id: UuidOrNone = "") -> Iterator[bytes]:
        """The bytes of the image of this work's instance, from `offset` on; with `image_id` those of its kernel or
        initial RAM disk, or of the image or backup that a volume is made of. Raises NotFound, Fenced.
        """

    def first_boot(self, *, lease: AgentLease) -> FirstBoot:
        """What the config drive of this work's instance says besides the order. Raises Fenced, and Invalid where
        somebody who must have a word to say does not answer.
        """

    def upload_begin(self, *, lease: AgentLease, size_bytes: Amount, sha256: Word) -> UploadPlace:
        """Begin to send the image or backup that this work makes, or go on with it: what was sent of the same bytes is
        there.

        Raises Invalid when the image is gone or is not taken, QuotaExceeded, Fenced.
        """

    def upload_piece(self, *, lease: AgentLease, offset: Amount, data: bytes) -> int:
        """One piece; answers where the next begins. A piece may be sent again. Raises Invalid, Fenced."""

    def upload_end(self, *, lease: AgentLease) -> None:
        """All pieces are there: they are read back and compared, and the image can be used. Asked again, it is done.

        Raises Invalid when they are not what was announced: the upload begins anew. Raises Fenced.
        """

    def step_progress(self, *, lease: AgentLease, step: StepName, done_bytes: Signed, total_bytes: Signed) -> None:
        """How far this step is, which was begun by `record_steps`; told every few seconds at most. Raises Fenced."""

    def build_done(self, *, lease: AgentLease, facts: GuestFacts, ended: Ended = ()) -> None:
        """The guest runs: ACTIVE, launched_at, addresses. Raises Fenced."""

    def build_failed(self, *, lease: AgentLease, failure: BuildFailure, ended: Ended = ()) -> None:
        """The build failed and the host released everything: next alternate, or ERROR. Raises Fenced."""

    def screenshot_done(self, *, lease: AgentLease, png: Picture, error: Sentence = "") -> None:
        """The picture of a guest's screen, a PNG of at most a MiB; or the error for operators why there is none."""

    def action_done(self, *, lease: AgentLease, facts: GuestFacts, ended: Ended = ()) -> None:
        """Start, stop or reboot is done and this is the power state now. Raises Fenced."""

    def action_failed(
        self,
        *,
        lease: AgentLease,
        step: StepName,
        message: Sentence,
        details: Details = "",
        ended: Ended = (),
        failure_class: FailureClass = FailureClass.HOST,
        is_guest_gone: bool = False,
    ) -> None:
        """The action failed; the instance keeps what it had, or goes to ERROR. Raises Fenced.

        Of class USER, the message is told to the owner: it speaks of the guest or image, and of nothing of the host.
        `is_guest_gone`: the hypervisor says that it has no guest of this instance; a host that is to run one is asked
        to bring it back.
        """

    def deleted(self, *, lease: AgentLease, ended: Ended = ()) -> None:
        """Nothing of the guest is left on the host: allocations, mappings and rows may go. Raises Fenced."""

    def instances_on_host(self, *, host: HostName) -> list[InstanceOnHost]:
        """Every instance placed on this host that is not deleted."""

    def power_states(self, *, host: HostName, facts: FactsByGuest) -> None:
        """Periodic truth from the hypervisor, by instance uuid; ignored for instances with open work."""

    def guest_counters(self, *, host: HostName, counters: CountersByGuest) -> None:
        """What the running guests have used until now, by instance uuid; those of other hosts are dropped.

        A control plane of the release before has no such verb: it answers NotFound.
        """

    def guest_documents(self, *, host: HostName, known: Digests) -> GuestDocuments:
        """What this host lacks to answer its guests' metadata service; `known`: the digests of what it has, by guest.

        Asked whenever something may have changed, until the answer is complete. A control plane of the release before
        has no such verb: it answers NotFound.
        """

    def guest_password(self, *, host: HostName, instance_uuid: Uuid, password: Password) -> None:
        """What a guest told of its own password; told again it is one. Raises NotFound for a guest that is not here,
        Conflict where another one is kept, Invalid.
        """

    def images_cached(self, *, host: HostName, images: ImagesHere) -> None:
        """All base images that this host has, each time all of them."""

    def images_wanted(self, *, host: HostName) -> list[WantedImage]:
        """What this host was asked to have in its cache and has not told the end of. Asked now and then."""

    def wanted_image_chunks(self, *, host: HostName, image_id: Uuid, offset: Amount = 0) -> Iterator[bytes]:
        """The bytes of such an image, from `offset` on. Raises NotFound for an image that is not wanted here."""

    def image_cache_progress(
        self, *, host: HostName, image_id: Uuid, state: CacheState, done_bytes: Amount, message: Sentence = ""
    ) -> None:
        """How far this host is with such an image, and how it ended. Raises NotFound as above."""

    def networks_wanted(self, *, host: HostName, known_revision: Signed = -1) -> HostNetworks | None:
        """All that this host is to have of networks; None while it is what it was at `known_revision`.

        A control plane of the release before has no such verb: it answers NotFound.
        """

    def consoles_wanted(self, *, host: HostName) -> list[ConsoleOrder]:
        """Sessions of consoles that wait for this host: for each it opens a WebSocket at `CONSOLE_PATH`.

        A control plane of the release before has no such verb: it answers NotFound.
        """

    def networks_applied(self, *, host: HostName, applied: NetworksApplied) -> None:
        """How far this host is with its networks. What was told of a later revision stays."""

    def console_failed(
        self,
        *,
        host: HostName,
        session_id: Uuid,
        message: Sentence,
        failure_class: FailureClass = FailureClass.HOST,
    ) -> None:
        """This host cannot open one; the message is for operators. Of class USER, it is told to the user as well: it
        speaks of the guest, and of nothing of the host.
        """

    def console_outputs(self, *, host: HostName, outputs: ConsoleLogs) -> None:
        """The end of the serial logs that changed since last sent, by instance uuid. The API serves it from rows."""

    def give_back(self, *, lease: AgentLease, reason: Sentence) -> None:
        """The agent ends, or cannot do it now: anybody may take it at once, no attempt is lost. Raises Fenced."""

    def orphan_guests(
        self,
        *,
        host: HostName,
        guests: Orphans,
        not_removed_because: Sentence = "",
        more: Count = 0,
    ) -> list[str]:
        """All guests here that no instance explains, each time all of them; empty when there is none (any more).

        Of more than ORPHANS_MAX the first by uuid are told, and `more` is how many there are besides.

        `not_removed_because` says why this agent removes none, if so. The answer: those whose time has come; each must
        be asked for by `release_guest` under its lock before it is removed.
        """

    def release_guest(self, *, host: HostName, guest_uuid: Uuid) -> bool:
        """Whether this orphan guest may be removed now: still nobody's here, and listed for long enough."""

    def guests_returned(self, *, host: HostName, returns: Returns) -> None:
        """After a start: which guests that should run were not running, and what became of them."""

    def volume_work(self, *, host: HostName) -> list[str]:
        """Ids of all work on volumes of this host that nobody holds a valid lease on. Asked now and then, and when a
        wake-up says so. A control plane of the release before has none of these verbs: it answers NotFound.
        """

    def volume_take(self, *, host: HostName, work_id: Uuid, owner: Name, token: Word) -> VolumeOrder | None:
        """As `take`. Its lease is renewed and given back as any other."""

    def volume_progress(self, *, lease: AgentLease, done_bytes: Signed, total_bytes: Signed) -> None:
        """How far it is; told every few seconds at most, and prolongs the lease. Raises Fenced."""

    def volume_done(self, *, lease: AgentLease, facts: VolumeFacts) -> None:
        """It is done, and this is what came of it. Raises Fenced."""

    def volume_failed(self, *, lease: AgentLease, message: Sentence, failure_class: FailureClass) -> None:
        """It could not be done, and nothing half-made is left. Of class USER, the message is told to the owner, as in
        `action_failed`. Raises Fenced.
        """

    def volume_made(self, *, lease: AgentLease, volume_id: Uuid, facts: VolumeFacts) -> None:
        """The build of an instance made a volume that it is to have; told again it is one. Raises Fenced."""

    def volume_key(self, *, host: HostName, volume_id: Uuid) -> str:
        """The passphrase of an encrypted volume that an instance here has, or that work of this host is about. It is
        in no log. Raises NotFound for any other.
        """

    def volumes_present(
        self,
        *,
        host: HostName,
        pools: PoolContents,
        not_removed_because: Sentence = "",
    ) -> list[VolumesOnHost]:
        """All that these pools have, each time all of it. The answer: what no row explains, and may be removed now.

        `not_removed_because` says why this agent removes nothing, if so. A pool that cannot be read is left out.
        """
