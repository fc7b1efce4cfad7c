"""Offers of volumes to other projects, under the old path and the new one."""

from controlplane.openstack.answers import Empty, JsonAnswer
from servers.openstack.volume.call import VolumeCall, flag_of, uuid_of
from servers.openstack.volume.documents.copies import transfer_json, transfer_summary
from servers.openstack.volume.listing import VolumeListing, id_is, text_is
from servers.openstack.volume.schemas.bodies import TRANSFER_ACCEPT, TRANSFER_CREATE
from servers.openstack.volume.shapes import (
    BesideTransfers,
    NewTransferShown,
    TransferShown,
    TransfersShown,
    TransferSummariesShown,
    TransferSummaryShown,
)
from servers.volumes.selectors.volumes import transfer_get, transfers_visible
from servers.volumes.services.transfers import transfer_accept, transfer_create, transfer_delete

TRANSFERS: VolumeListing[BesideTransfers] = VolumeListing(
    links="transfers_links",
    project="volume__project_id",
    filters={"name": text_is("name"), "display_name": text_is("name"), "volume_id": id_is("volume_id")},
    sort_keys={"id": "pk", "name": "name", "volume_id": "volume_id", "created_at": "created_at"},
)


def transfers_list(call: VolumeCall) -> JsonAnswer[TransferSummariesShown]:
    """What the project offers."""
    page = TRANSFERS.page(call, transfers_visible(call.caller))
    return call.answer({"transfers": [transfer_summary(call, row) for row in page.rows], **page.beside})


def transfers_detail(call: VolumeCall) -> JsonAnswer[TransfersShown]:
    """All of each."""
    page = TRANSFERS.page(call, transfers_visible(call.caller))
    return call.answer({"transfers": [transfer_json(call, row) for row in page.rows], **page.beside})


def transfer_add(call: VolumeCall) -> JsonAnswer[NewTransferShown]:
    """Offer a volume that nobody has. The answer has the word by which it is taken, this once."""
    said = call.named("transfer", TRANSFER_CREATE.at(call.minor))
    offer = transfer_create(
        caller=call.caller,
        volume_id=uuid_of(said["volume_id"], "Volume"),
        name=(said.get("name") or "").strip(),
        has_snapshots=not flag_of("no_snapshots", said.get("no_snapshots", False)),
    )
    return call.answer({"transfer": {**transfer_json(call, offer.transfer), "auth_key": offer.word}}, status=202)


def transfer_show(call: VolumeCall, transfer_id: str) -> JsonAnswer[TransferShown]:
    """One of them."""
    row = transfer_get(caller=call.caller, transfer_id=uuid_of(transfer_id, "Transfer"))
    return call.answer({"transfer": transfer_json(call, row)})


def transfer_remove(call: VolumeCall, transfer_id: str) -> Empty:
    """Take the offer back."""
    transfer_delete(caller=call.caller, transfer_id=uuid_of(transfer_id, "Transfer"))
    return call.empty(status=202)


def transfer_taken(call: VolumeCall, transfer_id: str) -> JsonAnswer[TransferSummaryShown]:
    """Have the caller's project own the volume, by the offer's word."""
    said = call.named("accept", TRANSFER_ACCEPT)
    known = uuid_of(transfer_id, "Transfer")
    offer = transfer_get(caller=None, transfer_id=known)
    transfer_accept(caller=call.caller, transfer_id=known, word=str(said["auth_key"]))
    return call.answer({"transfer": transfer_summary(call, offer)}, status=202)
