"""Volumes: listed, made, shown, changed, deleted."""

from typing import Any

from django.db.models import Count, Q, Sum

from computeagent.protocol.volumes import VolumeSourceKind
from controlplane.kernel.ids import parse_uuid
from controlplane.openstack.answers import Empty, JsonAnswer
from controlplane.openstack.faults import bad_request
from servers.images.selectors import image_for_instance
from servers.models import Volume
from servers.openstack.volume.call import VolumeCall, described, uuid_of
from servers.openstack.volume.documents.volumes import changed_volume_json, volume_json, volume_summary
from servers.openstack.volume.listing import (
    VolumeListFilter,
    VolumeListing,
    counted_in_quota,
    flag_is,
    id_is,
    keyed_texts,
    moment_is,
    number_is,
    text_has,
    text_is,
)
from servers.openstack.volume.schemas.bodies import VOLUME_CREATE, VOLUME_UPDATE
from servers.openstack.volume.shapes import (
    BesideVolumes,
    ChangedVolumeShown,
    VolumeShown,
    VolumesShown,
    VolumeSummariesShown,
    VolumeSums,
    VolumeSumsShown,
)
from servers.volumes.domain.volumes import VolumeRequest
from servers.volumes.selectors.volumes import volume_get, volumes_shown, volumes_visible
from servers.volumes.services.volumes import volume_create, volume_delete, volume_update

BACKUP_SOURCE_SINCE, FORCE_SINCE, SUMMARY_METADATA_SINCE = 47, 23, 36

VOLUMES: VolumeListing[BesideVolumes] = VolumeListing(
    links="volumes_links",
    project="project_id",
    filters={
        "name": text_is("name"),
        "display_name": text_is("name"),
        "name~": text_has("name"),
        "status": text_is("state"),
        "metadata": keyed_texts("metadata"),
        "bootable": flag_is("is_bootable"),
        "encrypted": flag_is("is_encrypted"),
        "multiattach": flag_is("is_multiattach"),
        "availability_zone": text_is("availability_zone"),
        "size": number_is("size_gib"),
        "user_id": id_is("user_id"),
        "volume_type_id": id_is("volume_type_id"),
        "created_at": moment_is("created_at"),
        "updated_at": moment_is("updated_at"),
        "consumes_quota": VolumeListFilter(counted_in_quota, since=65),
    },
    sort_keys={
        "id": "pk",
        "name": "name",
        "display_name": "name",
        "status": "state",
        "size": "size_gib",
        "bootable": "is_bootable",
        "availability_zone": "availability_zone",
        "user_id": "user_id",
        "created_at": "created_at",
        "updated_at": "updated_at",
    },
)


def volumes_list(call: VolumeCall) -> JsonAnswer[VolumeSummariesShown]:
    """Ids and names."""
    page = VOLUMES.page(call, volumes_visible(call.caller))
    return call.answer({"volumes": [volume_summary(call, row) for row in page.rows], **page.beside})


def volumes_detail(call: VolumeCall) -> JsonAnswer[VolumesShown]:
    """All of each: three queries, however many there are."""
    page = VOLUMES.page(call, volumes_shown(call.caller))
    return call.answer({"volumes": [volume_json(call, row) for row in page.rows], **page.beside})


def volumes_sum(call: VolumeCall) -> JsonAnswer[VolumeSumsShown]:
    """How many there are, how large they are together, and every value that their metadata have."""
    rows = VOLUMES.filtered(call, volumes_visible(call.caller))
    sums = rows.order_by().aggregate(count=Count("pk"), gib=Sum("size_gib"))
    shown: VolumeSums = {"total_count": sums["count"], "total_size": sums["gib"] or 0}
    if call.minor >= SUMMARY_METADATA_SINCE:
        values: dict[str, set[str]] = {}
        for metadata in rows.exclude(Q(metadata={})).order_by().values_list("metadata", flat=True):
            for key, value in metadata.items():
                values.setdefault(key, set()).add(value)
        shown["metadata"] = {key: sorted(found) for key, found in sorted(values.items())}
    return call.answer({"volume-summary": shown})


def volume_add(call: VolumeCall) -> JsonAnswer[ChangedVolumeShown]:
    """A new volume: blank, or of one image, snapshot, volume or backup. `creating` until a host has made it."""
    said = call.named("volume", VOLUME_CREATE)
    if said.get("backup_id") is not None and call.minor < BACKUP_SOURCE_SINCE:
        raise bad_request("backup_id: a volume is made of a backup from version 3.47 on.")
    kind, source_id = _source(call, said)
    row = volume_create(
        caller=call.caller,
        request=VolumeRequest(
            **described(said),
            size_gib=None if said.get("size") is None else int(said["size"]),
            volume_type=said.get("volume_type") or "",
            source_kind=kind,
            source_id=source_id,
            availability_zone=said.get("availability_zone") or "",
            metadata=said.get("metadata") or {},
        ),
    )
    return _changed(call, row, status=202)


def _source(call: VolumeCall, said: dict[str, Any]) -> tuple[VolumeSourceKind, Any]:
    """What it begins with. Raises Fault 400 where that are two things."""
    reference = said.get("image_id") or said.get("imageRef")
    named = {
        VolumeSourceKind.SNAPSHOT: said.get("snapshot_id"),
        VolumeSourceKind.VOLUME: said.get("source_volid"),
        VolumeSourceKind.BACKUP: said.get("backup_id"),
        VolumeSourceKind.IMAGE: reference,
    }
    found = {kind: value for kind, value in named.items() if value}
    if len(found) > 1:
        kinds = " and a ".join(kind.value for kind in found)
        raise bad_request(f"A volume begins with one thing, and not with a {kinds}.")
    if not found:
        return VolumeSourceKind.BLANK, None
    kind, value = next(iter(found.items()))
    if kind is VolumeSourceKind.IMAGE:
        # By id, by name, or by the address that old clients send.
        last = value.rpartition("/")[2]
        return kind, image_for_instance(caller=call.caller, reference=last if parse_uuid(last) else value).pk
    return kind, parse_uuid(value)


def volume_show(call: VolumeCall, volume_id: str) -> JsonAnswer[VolumeShown]:
    """One of them."""
    found = volume_get(caller=call.caller, volume_id=uuid_of(volume_id, "Volume"))
    return call.answer({"volume": volume_json(call, found)})


def volume_change(call: VolumeCall, volume_id: str) -> JsonAnswer[ChangedVolumeShown]:
    """Name, description, and metadata as a whole."""
    said = call.named("volume", VOLUME_UPDATE)
    changes: dict[str, Any] = described(said)
    if "metadata" in said:
        changes["metadata"] = said["metadata"]
    return _changed(call, volume_update(caller=call.caller, volume_id=uuid_of(volume_id, "Volume"), changes=changes))


def volume_remove(call: VolumeCall, volume_id: str) -> Empty:
    """Have it removed; with `cascade` its snapshots before it, with `force` in any state."""
    call.check_names("cascade", *(["force"] if call.minor >= FORCE_SINCE else []))
    volume_delete(
        caller=call.caller,
        volume_id=uuid_of(volume_id, "Volume"),
        with_snapshots=call.flag("cascade"),
        is_forced=call.flag("force"),
    )
    return call.empty(status=202)


def _changed(call: VolumeCall, row: Volume, *, status: int = 200) -> JsonAnswer[ChangedVolumeShown]:
    whole = volume_get(caller=None, volume_id=row.pk)
    return call.answer({"volume": changed_volume_json(call, whole)}, status=status)
