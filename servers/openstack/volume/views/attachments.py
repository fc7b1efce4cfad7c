"""Attachments of volumes, read: instances get and lose volumes by the Compute API."""

from typing import NoReturn

from django.db.models import Q

from controlplane.openstack.answers import JsonAnswer
from controlplane.openstack.faults import ApiFault
from servers.openstack.volume.call import VolumeCall, uuid_of
from servers.openstack.volume.documents.volumes import STATUSES, attachment_json, attachment_summary
from servers.openstack.volume.listing import VolumeListFilter, VolumeListing, VolumePage, id_is
from servers.openstack.volume.shapes import (
    AttachmentShown,
    AttachmentsShown,
    AttachmentSummariesShown,
    BesideAttachments,
)
from servers.volumes.selectors.volumes import attachment_get, attachments_visible


def _status(value: str) -> Q:
    return Q(state__in=[state.value for state, spelling in STATUSES.items() if spelling == value])


ATTACHMENTS: VolumeListing[BesideAttachments] = VolumeListing(
    links="attachments_links",
    project="volume__project_id",
    filters={
        "volume_id": id_is("volume_id"),
        "instance_id": id_is("instance_uuid"),
        "status": VolumeListFilter(_status),
        "attach_status": VolumeListFilter(_status),
    },
    sort_keys={"id": "pk", "volume_id": "volume_id", "created_at": "created_at", "updated_at": "updated_at"},
)


def _page(call: VolumeCall) -> VolumePage[BesideAttachments]:
    return ATTACHMENTS.page(call, attachments_visible(call.caller))


def attachments_list(call: VolumeCall) -> JsonAnswer[AttachmentSummariesShown]:
    """Which volume, which instance, in what state."""
    page = _page(call)
    return call.answer({"attachments": [attachment_summary(row) for row in page.rows], **page.beside})


def attachments_detail(call: VolumeCall) -> JsonAnswer[AttachmentsShown]:
    """All of each."""
    page = _page(call)
    return call.answer({"attachments": [attachment_json(row) for row in page.rows], **page.beside})


def attachment_show(call: VolumeCall, attachment_id: str) -> JsonAnswer[AttachmentShown]:
    """One of them."""
    row = attachment_get(caller=call.caller, attachment_id=uuid_of(attachment_id, "Attachment"))
    return call.answer({"attachment": attachment_json(row)})


def attachment_remove(call: VolumeCall, attachment_id: str) -> NoReturn:
    """Refused, as Cinder refuses it to users: the guest would have a disk that nobody knows of."""
    row = attachment_get(caller=call.caller, attachment_id=uuid_of(attachment_id, "Attachment"))
    raise ApiFault(409, f"Detach volume from instance {row.instance_uuid} using the Compute API.")
