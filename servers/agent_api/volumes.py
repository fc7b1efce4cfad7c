"""The verbs about volumes of a host, and work on them."""

import logging
import uuid
from collections.abc import Sequence

from django.db import transaction

from computeagent.protocol.steps import FailureClass
from computeagent.protocol.volume_work import VolumeOrder
from computeagent.protocol.volumes import VolumeFacts, VolumesOnHost, VolumeSourceKind, VolumeWorkKind
from computeagent.protocol.work import AgentLease
from controlplane.kernel.errors import Invalid, NotFound
from controlplane.kernel.ids import parse_uuid
from controlplane.work.models import Work
from controlplane.work.work import WorkLease as RowLease
from controlplane.work.work import compute_queue, work_fence, work_take, work_take_again
from scheduling.fleet.selectors.liveness import host_is_forced_down
from servers.agent_api.leases import instance_work, leased, reaching, row_lease, volume_work
from servers.agent_api.reached import OwnedHost
from servers.agent_api.volume_orders import backups_read, volume_order
from servers.models import Instance, Volume, VolumeAttachment
from servers.volumes.domain.work_rules import VOLUME_KINDS
from servers.volumes.services import keys, made, present, work, work_ends
from servers.volumes.services.progress import volume_progress_write

log = logging.getLogger(__name__)

READING_BACKUPS = frozenset(
    {VolumeWorkKind.VOLUME_CREATE, VolumeWorkKind.VOLUME_RESTORE, VolumeWorkKind.VOLUME_BACKUP_CREATE}
)
OWNER_MAX = 200
LOCATION_MAX, TEXT_MAX = 16, 500


class VolumeVerbs(OwnedHost):
    """See `computeagent.protocol.conductor.Conductor`."""

    @reaching
    def volume_work(self, *, host: str) -> list[str]:
        """See Conductor. A host that was declared dead is given none."""
        return [] if host_is_forced_down(host=host) else work.volume_work_on_host(host=host)

    @reaching
    def volume_take(self, *, host: str, work_id: str, owner: str, token: str) -> VolumeOrder | None:
        """See Conductor. Work on instances is not taken here."""
        owner = f"{owner}:{token}"
        if len(owner) > OWNER_MAX:
            raise Invalid(f"An owner and its token have at most {OWNER_MAX - 1} characters.", field="owner")
        if not work.is_volume_work(work_id):
            return None
        queue = compute_queue(host)
        taken = work_take(work_id=work_id, owner=owner, queue=queue, ownership=self._ownership)
        if taken is None:
            taken = work_take_again(work_id=work_id, owner=owner, queue=queue, ownership=self._ownership)
        return None if taken is None else volume_order(*taken, owner=owner, host=host)

    @leased
    def volume_progress(self, *, lease: AgentLease, done_bytes: int, total_bytes: int) -> None:
        """See Conductor."""
        held = self._of_volume(lease)
        work_fence(lease=held)
        volume_progress_write(lease=held, done_bytes=done_bytes, total_bytes=total_bytes)

    @leased
    def volume_done(self, *, lease: AgentLease, facts: VolumeFacts) -> None:
        """See Conductor."""
        work_ends.volume_work_done(lease=self._of_volume(lease), facts=_sound(facts))

    @leased
    def volume_failed(self, *, lease: AgentLease, message: str, failure_class: FailureClass) -> None:
        """See Conductor."""
        held = self._of_volume(lease)
        work_ends.volume_work_failed(lease=held, message=message, failure_class=failure_class)

    @leased
    def volume_made(self, *, lease: AgentLease, volume_id: str, facts: VolumeFacts) -> None:
        """See Conductor."""
        held = row_lease(instance_work(lease), self._ownership)
        with transaction.atomic():
            work_fence(lease=held)
            made.volume_made(instance_uuid=held.subject, volume_id=_volume_id(volume_id), facts=_sound(facts))

    @reaching
    def volume_key(self, *, host: str, volume_id: str) -> str:
        """See Conductor. Who asks for any other learns no more than that it is not theirs."""
        with self._owned(host):
            found = _volume_id(volume_id)
            if not (_has_guest_with(host, found) or found in work.keys_needed(host=host)):
                log.warning("host %s was refused the key of volume %s, of which it has nothing", host, found)
                raise NotFound("This host has nothing to do with such a volume.")
            return keys.volume_key_open(owner_id=found)

    @reaching
    def volumes_present(
        self, *, host: str, pools: Sequence[VolumesOnHost], not_removed_because: str = ""
    ) -> list[VolumesOnHost]:
        """See Conductor."""
        with self._owned(host):
            return present.volumes_present(host=host, pools=pools, not_removed_because=not_removed_because)

    def _of_volume(self, lease: AgentLease) -> RowLease:
        return row_lease(volume_work(lease), self._ownership)


def image_of_volume_work(lease: RowLease, named: str) -> uuid.UUID | None:
    """The image of this id, if a volume is made of it by this work: on its own, or with an instance. None for any
    other. The caller fences.
    """
    image_id = parse_uuid(named)
    rows = Volume.objects.filter(source_kind=VolumeSourceKind.IMAGE.value, source_id=image_id)
    its = rows.filter(pk=lease.subject) if lease.kind in VOLUME_KINDS else rows.filter(instance_uuid=lease.subject)
    return image_id if image_id is not None and its.exists() else None


def backup_of_volume_work(lease: RowLease, named: str) -> uuid.UUID | None:
    """The backup of this id, if a volume is restored from it by this work, or compared with it. None for any other. The
    caller fences.
    """
    if lease.kind not in READING_BACKUPS:
        return None
    row = Work.objects.get(pk=lease.work_id)
    volume = Volume.objects.filter(pk=row.arguments[work.VOLUME_ID]).first()
    backups = [] if volume is None else backups_read(row, volume)
    return next((row.pk for row in backups if str(row.pk) == named), None)


def _sound(facts: VolumeFacts) -> VolumeFacts:
    """What a host said, as far as it fits in a row. Raises Invalid: other hosts of a shared pool are told the same."""
    texts = [*facts.location, *facts.location.values()]
    if len(facts.location) > LOCATION_MAX or any(len(text) > TEXT_MAX for text in texts):
        raise Invalid(f"A location has at most {LOCATION_MAX} texts of {TEXT_MAX} characters.", field="facts.location")
    figures = (facts.size_bytes, facts.used_bytes, facts.frozen_ms << 31)
    if min(figures) < 0 or max(figures) >= 2**62:
        raise Invalid("A figure of a volume is below 0, or out of all measure.", field="facts")
    return facts


def _has_guest_with(host: str, volume_id: uuid.UUID) -> bool:
    instances = VolumeAttachment.objects.filter(volume=volume_id).values_list("instance_uuid", flat=True)
    return Instance.objects.filter(pk__in=list(instances), host=host, deleted_at__isnull=True).exists()


def _volume_id(text: str) -> uuid.UUID:
    found = parse_uuid(text)
    if found is None:
        raise NotFound("There is no such volume.")
    return found
