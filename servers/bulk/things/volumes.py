"""Volumes in bulk jobs: taken from their instances, or deleted; both are over when a host has done it."""

import uuid
from collections.abc import Mapping, Sequence

from django.http import QueryDict

from controlplane.identity.domain import Caller
from controlplane.kernel.texts import phrase as _
from servers.bulk.domain import BulkItemState
from servers.bulk.things.thing import DONE, RUNNING, BulkThing, ItemEnd, ItemEnds, matching_rows
from servers.filtersets_volume import VolumeFilter
from servers.instances.actions.volumes import DETACH_VOLUME
from servers.instances.services.act import instance_act
from servers.models import BulkJob, BulkJobItem, Volume, VolumeAttachment
from servers.volumes.domain.states import AttachmentState, VolumeState
from servers.volumes.selectors.volumes import volume_get, volumes_visible
from servers.volumes.services.volumes import volume_delete

UNSAID = _("Its host ended it without a reason.")


def _names(caller: Caller, ids: Sequence[uuid.UUID]) -> Mapping[uuid.UUID, str]:
    rows = volumes_visible(caller).filter(pk__in=ids)
    return {pk: name or str(pk) for pk, name in rows.values_list("pk", "name")}


def _matching(caller: Caller, filters: QueryDict, _all_projects: bool, limit: int) -> list[uuid.UUID]:
    return matching_rows(VolumeFilter, volumes_visible(caller).order_by("-created_at", "pk"), filters, limit)


def _ask(job: BulkJob, item: BulkJobItem, caller: Caller) -> None:
    if job.action == "delete":
        volume_delete(caller=caller, volume_id=item.subject)
        return
    volume = volume_get(caller=caller, volume_id=item.subject)
    arguments = {"volume": str(volume.pk)}
    for attachment in VolumeAttachment.objects.filter(volume=volume.pk).order_by("created_at", "pk"):
        if attachment.state != AttachmentState.DETACHING:
            uid = attachment.instance_uuid
            instance_act(caller=caller, instance_id=uid, action=DETACH_VOLUME.name, arguments=arguments)


def _ends(items: Sequence[BulkJobItem]) -> ItemEnds:
    """Two queries, however many items."""
    ids = [item.subject for item in items]
    volumes = Volume.objects.only("state", "fault").in_bulk(ids)
    held: dict[uuid.UUID, list[VolumeAttachment]] = {pk: [] for pk in ids}
    for attachment in VolumeAttachment.objects.filter(volume__in=ids):
        held[attachment.volume_id].append(attachment)
    return {item.pk: _end(item, volumes.get(item.subject), held[item.subject]) for item in items}


def _end(item: BulkJobItem, volume: Volume | None, attachments: Sequence[VolumeAttachment]) -> ItemEnd:
    if volume is None:
        return DONE
    if item.job.action == "delete":
        is_going = volume.state == VolumeState.DELETING
        return RUNNING if is_going else (BulkItemState.FAILED, volume.fault or UNSAID)
    if any(one.state == AttachmentState.DETACHING for one in attachments):
        return RUNNING
    return (BulkItemState.FAILED, attachments[0].problem or UNSAID) if attachments else DONE


VOLUMES = BulkThing(_names, _matching, _ask, _ends)
