"""`DatabaseConductor`: each verb is a service or a selector, on the calling thread's own connection."""

import uuid
from collections.abc import Iterable, Sequence
from contextlib import suppress

from django.db import close_old_connections, transaction

from computeagent.protocol.conductor import GroupVerdict
from computeagent.protocol.guest_config import FirstBoot
from computeagent.protocol.guests import GuestCounters, GuestFacts, GuestOnHypervisor, GuestReturn, InstanceOnHost
from computeagent.protocol.steps import BuildFailure, FailureClass, StepEnd
from computeagent.protocol.uploads import UploadPlace
from computeagent.protocol.volumes import VolumeWorkKind
from computeagent.protocol.work import AgentLease, HostWakeup, HostWakeupKind, Wakeup, WorkKind, WorkOrder, WorkWakeup
from controlplane.kernel.errors import Invalid, NotFound
from controlplane.kernel.ids import parse_uuid
from controlplane.work.host_ownership import Ownership
from controlplane.work.wakeups import WakeupWaiter, waiter_open
from controlplane.work.work import WorkLease as RowLease
from controlplane.work.work import (
    compute_queue,
    leases_void,
    untaken_work,
    work_fence,
    work_give_back,
    work_take,
    work_take_again,
)
from servers.agent_api.console_log import console_logs_store
from servers.agent_api.consoles import ConsoleVerbs
from servers.agent_api.group_check import group_refusal
from servers.agent_api.guest_documents import GuestDocumentVerbs
from servers.agent_api.guest_spec import image_of_guest
from servers.agent_api.host_images import HostImageVerbs
from servers.agent_api.host_instances import instances_on_host
from servers.agent_api.host_networks import HostNetworkVerbs
from servers.agent_api.host_reports import HostReportVerbs
from servers.agent_api.leases import instance_work, leased, reaching, row_lease
from servers.agent_api.orders import work_order
from servers.agent_api.reached import database_reached
from servers.agent_api.recovery import guests_returned
from servers.agent_api.volumes import VolumeVerbs, backup_of_volume_work, image_of_volume_work
from servers.images.services.image_store import image_chunks
from servers.images.services.pieces import Incoming, pieces_begin, pieces_end, pieces_take
from servers.images.services.uploads_in_pieces import IncomingImage
from servers.images.stores.chosen import byte_store
from servers.images.stores.store import ImageBytes
from servers.instances.actions.table import ACTION_OF_WORK
from servers.instances.selectors.instances import instance_row
from servers.instances.selectors.work_images import image_made_by, image_of_new_volume, image_read_by
from servers.instances.services.act import action_done, action_failed
from servers.instances.services.build_outcome import build_done, build_failed
from servers.instances.services.delete import delete_done
from servers.instances.services.first_boot import first_boot_read
from servers.instances.services.guest_counters import guest_counters_store
from servers.instances.services.journal import StepReport, StepTrack, step_progress_write, steps_write
from servers.instances.services.screenshot import screenshot_done
from servers.instances.services.state import step_task_set
from servers.models import Instance
from servers.repair.services.orphan_guests import orphan_guest_release, orphan_guests_report
from servers.repair.services.power_sync import guest_bring_back, power_states_sync
from servers.repair.services.task_heal import lost_tasks_heal
from servers.volumes.backups.incoming import IncomingBackup
from servers.volumes.backups.reading import backup_chunks
from servers.volumes.domain.work_rules import VOLUME_KINDS
from servers.volumes.services.uploads import image_uploaded_by

OWNER_MAX = 200


def conductor_connect() -> "DatabaseConductor":
    """The conductor of this installation, in-process: what tests ask."""
    return DatabaseConductor()


def _step_report(lease: AgentLease, ended: Sequence[StepEnd]) -> StepReport:
    work_context = lease.work_context
    subject = row_lease(lease).subject
    track = StepTrack(work_context.action_id, work_context.number, work_context.host, subject)
    return StepReport(track, tuple(ended))


class DatabaseConductor(
    HostReportVerbs, ConsoleVerbs, GuestDocumentVerbs, HostImageVerbs, HostNetworkVerbs, VolumeVerbs
):
    """See `computeagent.protocol.conductor.Conductor` for what each verb promises."""

    def __init__(self, ownership: Ownership | None = None) -> None:
        """`ownership`: who must own the host for a write to take effect, where that was told before."""
        super().__init__(ownership)
        self._waiters: dict[str, WakeupWaiter] = {}

    @reaching
    def void_leases(self, *, host: str, owner_prefix: str) -> None:
        """See Conductor. A task of this host whose work is lost ends by the rule for restarts, as nobody else is there
        to end it.
        """
        with self._owned(host):
            leases_void(queue=compute_queue(host), owner_prefix=owner_prefix)
        lost_tasks_heal(host=host)

    def _row_lease(self, lease: AgentLease) -> RowLease:
        return row_lease(instance_work(lease), self._ownership)

    def wakeups(self, *, host: str, timeout_s: float) -> list[Wakeup]:
        """See Conductor. Called from one thread only: a waiter belongs to it."""
        close_old_connections()
        waiter = self._waiters.get(host) or self._waiters.setdefault(host, waiter_open(compute_queue(host)))
        return received_wakeups((wakeup.code, wakeup.ref) for wakeup in waiter.wait(timeout_s))

    @reaching
    def waiting_work(self, *, host: str) -> list[WorkWakeup]:
        """See Conductor."""
        return pending_wakeups((kind, str(pk)) for kind, pk in untaken_work(queue=compute_queue(host)))

    @reaching
    def take(self, *, host: str, work_id: str, owner: str, token: str = "") -> WorkOrder | None:
        """See Conductor. The owner of the row is the owner with the token, so that no other taking is taken for it."""
        owner = f"{owner}:{token}" if token else owner
        if len(owner) > OWNER_MAX:
            raise Invalid(f"An owner and its token have at most {OWNER_MAX - 1} characters.", field="owner")
        queue = compute_queue(host)
        taken = work_take(work_id=work_id, owner=owner, queue=queue, ownership=self._ownership)
        if taken is None and token:
            taken = work_take_again(work_id=work_id, owner=owner, queue=queue, ownership=self._ownership)
        if taken is None:
            return None
        work, lease = taken
        if work.kind in VOLUME_KINDS:  # no agent is told of it here: whoever asks made the id up
            work_give_back(lease=lease, reason="It was taken as work on an instance, which it is not.")
            return None
        return work_order(work, lease, owner=owner)

    @leased
    def renew(self, *, lease: AgentLease) -> None:
        """See Conductor. Of any kind of work."""
        work_fence(lease=row_lease(lease, self._ownership))

    @leased
    def record_steps(self, *, lease: AgentLease, ended: Sequence[StepEnd] = (), begins: str = "") -> None:
        """See Conductor."""
        held = self._row_lease(lease)
        with transaction.atomic():
            work_fence(lease=held, step=begins or None)
            rule = ACTION_OF_WORK[held.kind]
            if (task := rule.step_task(begins)) is not None:
                step_task_set(held.subject, rule, task)
            step_report = _step_report(lease, ended)
            steps_write(step_report.track, ended=step_report.ended, begins=begins)

    @leased
    def group_check(self, *, lease: AgentLease) -> GroupVerdict:
        """See Conductor."""
        reason = group_refusal(instance_row(self._row_lease(lease).subject))
        return GroupVerdict(allowed=not reason, reason=reason)

    def image_chunks(self, *, lease: AgentLease, offset: int = 0, image_id: str = "") -> ImageBytes:
        """See Conductor."""
        backup = self._backup_of(lease, image_id) if image_id else None
        if backup is not None:
            with database_reached():
                return backup_chunks(backup, offset=offset)
        found = self._image_of(lease, image_id)
        if found is None:
            raise NotFound("The instance was made without this image.")
        with database_reached():
            return image_chunks(found, offset=offset)

    @leased
    def first_boot(self, *, lease: AgentLease) -> FirstBoot:
        """See Conductor."""
        return first_boot_read(self._instance_of(lease))

    @leased
    def _instance_of(self, lease: AgentLease) -> Instance:
        """Only whoever holds the lease reads what is its instance's: it may be another project's secret."""
        held = self._row_lease(lease)
        work_fence(lease=held)
        return instance_row(held.subject)

    @leased
    def _backup_of(self, lease: AgentLease, named: str) -> uuid.UUID | None:
        """The same of a backup that a volume is restored from, or compared with."""
        held = row_lease(lease, self._ownership)
        work_fence(lease=held)
        return backup_of_volume_work(held, named)

    @leased
    def _image_of(self, lease: AgentLease, named: str) -> uuid.UUID | None:
        """The same: images may be another project's secret."""
        held = row_lease(lease, self._ownership)
        work_fence(lease=held)
        if named and (image_id := image_of_volume_work(held, named)) is not None:
            return image_id
        held = self._row_lease(lease)
        if not named:
            return image_read_by(held)
        instance = instance_row(held.subject)
        return image_of_guest(instance, named) or image_of_new_volume(instance, named)

    def upload_begin(self, *, lease: AgentLease, size_bytes: int, sha256: str) -> UploadPlace:
        """See Conductor."""
        made = self._upload_of(lease)
        with database_reached():
            return pieces_begin(byte_store(), made, size_bytes=size_bytes, sha256=sha256)

    def upload_piece(self, *, lease: AgentLease, offset: int, data: bytes) -> int:
        """See Conductor."""
        made = self._upload_of(lease)
        with database_reached():
            return pieces_take(byte_store(), made, offset=offset, data=data)

    def upload_end(self, *, lease: AgentLease) -> None:
        """See Conductor."""
        made = self._upload_of(lease)
        with database_reached():
            pieces_end(byte_store(), made)

    @leased
    def _upload_of(self, lease: AgentLease) -> Incoming:
        """Only the image or backup that this work was written to make."""
        held = row_lease(lease, self._ownership)
        work_fence(lease=held)
        if held.kind == VolumeWorkKind.VOLUME_BACKUP_CREATE.value:
            return IncomingBackup(held.subject)
        if held.kind == VolumeWorkKind.VOLUME_UPLOAD.value:
            return IncomingImage(image_uploaded_by(held.work_id))
        return IncomingImage(image_made_by(self._row_lease(lease)))

    @leased
    def step_progress(self, *, lease: AgentLease, step: str, done_bytes: int, total_bytes: int) -> None:
        """See Conductor."""
        work_fence(lease=self._row_lease(lease))
        track = _step_report(lease, ()).track
        step_progress_write(track, step=step, done_bytes=done_bytes, total_bytes=total_bytes)

    @leased
    def build_done(self, *, lease: AgentLease, facts: GuestFacts, ended: Sequence[StepEnd] = ()) -> None:
        """See Conductor."""
        build_done(
            lease=self._row_lease(lease),
            guest=facts,
            steps=_step_report(lease, ended),
            has_devices=lease.work_context.has_devices,
            has_first_boot=lease.work_context.has_first_boot,
            has_block_devices=lease.work_context.has_block_devices,
        )

    @leased
    def build_failed(self, *, lease: AgentLease, failure: BuildFailure, ended: Sequence[StepEnd] = ()) -> None:
        """See Conductor."""
        build_failed(lease=self._row_lease(lease), failure=failure, steps=_step_report(lease, ended))

    @leased
    def screenshot_done(self, *, lease: AgentLease, png: bytes, error: str = "") -> None:
        """See Conductor."""
        screenshot_done(lease=self._row_lease(lease), png=png, error=error)

    @leased
    def action_done(self, *, lease: AgentLease, facts: GuestFacts, ended: Sequence[StepEnd] = ()) -> None:
        """See Conductor."""
        action_done(lease=self._row_lease(lease), guest=facts, steps=_step_report(lease, ended))

    @leased
    def action_failed(
        self,
        *,
        lease: AgentLease,
        step: str,
        message: str,
        details: str = "",
        ended: Sequence[StepEnd] = (),
        failure_class: FailureClass = FailureClass.HOST,
        is_guest_gone: bool = False,
    ) -> None:
        """See Conductor."""
        row_lease, failure = self._row_lease(lease), BuildFailure(failure_class, step, message, details)
        with transaction.atomic():  # killed between the two, the work is done anew and says the same again
            action_failed(lease=row_lease, failure=failure, steps=_step_report(lease, ended))
            if is_guest_gone:
                guest_bring_back(instance_id=row_lease.subject, failed=row_lease.kind)

    @leased
    def deleted(self, *, lease: AgentLease, ended: Sequence[StepEnd] = ()) -> None:
        """See Conductor."""
        delete_done(lease=self._row_lease(lease), steps=_step_report(lease, ended))

    @reaching
    def instances_on_host(self, *, host: str) -> list[InstanceOnHost]:
        """See Conductor."""
        return instances_on_host(host)

    @reaching
    def power_states(self, *, host: str, facts: dict[str, GuestFacts]) -> None:
        """See Conductor."""
        guests = {uuid.UUID(pk): each for pk, each in facts.items()}
        power_states_sync(host=host, guests=guests, ownership=self._ownership)

    @reaching
    def guest_counters(self, *, host: str, counters: dict[str, GuestCounters]) -> None:
        """See Conductor."""
        by_id = {pk: each for name, each in counters.items() if (pk := parse_uuid(name)) is not None}
        guest_counters_store(host=host, counters=by_id, ownership=self._ownership)

    @reaching
    def console_outputs(self, *, host: str, outputs: dict[str, str]) -> None:
        """See Conductor."""
        texts = {uuid.UUID(pk): text for pk, text in outputs.items()}
        console_logs_store(host=host, outputs=texts, ownership=self._ownership)

    @leased
    def give_back(self, *, lease: AgentLease, reason: str) -> None:
        """See Conductor."""
        work_give_back(lease=row_lease(lease, self._ownership), reason=reason)

    @reaching
    def orphan_guests(
        self, *, host: str, guests: Sequence[GuestOnHypervisor], not_removed_because: str = "", more: int = 0
    ) -> list[str]:
        """See Conductor."""
        with self._owned(host):
            due = orphan_guests_report(host=host, guests=guests, not_removed_because=not_removed_because, more=more)
            return [str(pk) for pk in due]

    @reaching
    def release_guest(self, *, host: str, guest_uuid: str) -> bool:
        """See Conductor."""
        with self._owned(host):
            return orphan_guest_release(host=host, guest_uuid=uuid.UUID(guest_uuid))

    @reaching
    def guests_returned(self, *, host: str, returns: Sequence[GuestReturn]) -> None:
        """See Conductor."""
        with self._owned(host):
            guests_returned(host=host, returns=returns)


def received_wakeups(pairs: "Iterable[tuple[str, str]]") -> list[Wakeup]:
    """What came for a host: work, and what concerns the host itself, each once."""
    came = list(pairs)
    codes = {HostWakeupKind.VOLUMES.value if code in VOLUME_KINDS else code for code, _ in came}
    return [*(HostWakeup(kind) for kind in HostWakeupKind if kind.value in codes), *pending_wakeups(came)]


def pending_wakeups(pairs: "Iterable[tuple[str, str]]") -> list[WorkWakeup]:
    """Codes outside the allow-list are dropped: whoever can write a wake-up can write nonsense."""
    wakeups = []
    for code, ref in pairs:
        with suppress(ValueError):
            wakeups.append(WorkWakeup(WorkKind(code), str(uuid.UUID(ref))))
    return wakeups
