"""Metadata of volumes and snapshots, as a whole and key by key."""

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from controlplane.openstack.answers import Empty, JsonAnswer
from controlplane.openstack.faults import bad_request, not_found
from servers.openstack.volume.call import VolumeCall, uuid_of
from servers.openstack.volume.documents.volumes import shown_metadata
from servers.openstack.volume.schemas.bodies import META_ITEM, METADATA_BODY
from servers.openstack.volume.shapes import VolumeMetadataShown, VolumeMetaShown
from servers.volumes.selectors.volumes import snapshot_get, volume_get
from servers.volumes.services.metadata import snapshot_metadata_change, volume_metadata_change
from servers.volumes.services.snapshots import snapshot_update
from servers.volumes.services.volumes import volume_update


def volume_metadata(call: VolumeCall, volume_id: str) -> JsonAnswer[VolumeMetadataShown]:
    """All that a volume has."""
    row = volume_get(caller=call.caller, volume_id=uuid_of(volume_id, "Volume"))
    return call.answer({"metadata": shown_metadata(row)})


def volume_metadata_add(call: VolumeCall, volume_id: str) -> JsonAnswer[VolumeMetadataShown]:
    """Write these keys; others stay."""
    put, known = call.named("metadata", METADATA_BODY), uuid_of(volume_id, "Volume")
    return call.answer({"metadata": volume_metadata_change(caller=call.caller, volume_id=known, put=put)})


def volume_metadata_replace(call: VolumeCall, volume_id: str) -> JsonAnswer[VolumeMetadataShown]:
    """These keys, and no others."""
    whole, known = call.named("metadata", METADATA_BODY), uuid_of(volume_id, "Volume")
    row = volume_update(caller=call.caller, volume_id=known, changes={"metadata": whole})
    return call.answer({"metadata": row.metadata})


def volume_meta_show(call: VolumeCall, volume_id: str, key: str) -> JsonAnswer[VolumeMetaShown]:
    """One key."""
    row = volume_get(caller=call.caller, volume_id=uuid_of(volume_id, "Volume"))
    return call.answer({"meta": _item(shown_metadata(row), key)})


def volume_meta_put(call: VolumeCall, volume_id: str, key: str) -> JsonAnswer[VolumeMetaShown]:
    """Write one key."""
    return _put(
        call,
        key,
        lambda put: volume_metadata_change(caller=call.caller, volume_id=uuid_of(volume_id, "Volume"), put=put),
    )


def volume_meta_remove(call: VolumeCall, volume_id: str, key: str) -> Empty:
    """Remove one key."""
    volume_metadata_change(caller=call.caller, volume_id=uuid_of(volume_id, "Volume"), removed=[key])
    return call.empty(status=200)


def snapshot_metadata(call: VolumeCall, snapshot_id: str) -> JsonAnswer[VolumeMetadataShown]:
    """All that a snapshot has."""
    row = snapshot_get(caller=call.caller, snapshot_id=_snapshot(snapshot_id))
    return call.answer({"metadata": dict(row.metadata)})


def snapshot_metadata_add(call: VolumeCall, snapshot_id: str) -> JsonAnswer[VolumeMetadataShown]:
    """Write these keys; others stay."""
    put, known = call.named("metadata", METADATA_BODY), _snapshot(snapshot_id)
    return call.answer({"metadata": snapshot_metadata_change(caller=call.caller, snapshot_id=known, put=put)})


def snapshot_metadata_replace(call: VolumeCall, snapshot_id: str) -> JsonAnswer[VolumeMetadataShown]:
    """These keys, and no others."""
    whole, known = call.named("metadata", METADATA_BODY), _snapshot(snapshot_id)
    row = snapshot_update(caller=call.caller, snapshot_id=known, changes={"metadata": whole})
    return call.answer({"metadata": row.metadata})


def snapshot_meta_show(call: VolumeCall, snapshot_id: str, key: str) -> JsonAnswer[VolumeMetaShown]:
    """One key."""
    row = snapshot_get(caller=call.caller, snapshot_id=_snapshot(snapshot_id))
    return call.answer({"meta": _item(row.metadata, key)})


def snapshot_meta_put(call: VolumeCall, snapshot_id: str, key: str) -> JsonAnswer[VolumeMetaShown]:
    """Write one key."""
    return _put(
        call,
        key,
        lambda put: snapshot_metadata_change(caller=call.caller, snapshot_id=_snapshot(snapshot_id), put=put),
    )


def snapshot_meta_remove(call: VolumeCall, snapshot_id: str, key: str) -> Empty:
    """Remove one key."""
    snapshot_metadata_change(caller=call.caller, snapshot_id=_snapshot(snapshot_id), removed=[key])
    return call.empty(status=200)


def _snapshot(snapshot_id: str) -> UUID:
    return uuid_of(snapshot_id, "Snapshot")


def _item(metadata: Mapping[str, Any], key: str) -> dict[str, str]:
    if key not in metadata:
        raise not_found(f"Metadata has no key {key:.80}.")
    return {key: metadata[key]}


def _put(
    call: VolumeCall, key: str, change: Callable[[Mapping[str, str]], Mapping[str, str]]
) -> JsonAnswer[VolumeMetaShown]:
    item = call.named("meta", META_ITEM)
    if set(item) != {key}:
        raise bad_request("Request body and URI mismatch: they name two keys.")
    return call.answer({"meta": _item(change(item), key)})
