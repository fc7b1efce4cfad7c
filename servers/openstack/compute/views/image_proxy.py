"""Images as Nova passed them on until 2.35, and their metadata until 2.38."""

import uuid
from collections.abc import Callable
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse

from controlplane.kernel.ids import parse_uuid
from controlplane.openstack.faults import bad_request, not_found
from controlplane.openstack.schemas import CompiledSchema
from servers.images.domain.images import ImageStatus
from servers.images.selectors import image_get, images_listed
from servers.images.services.image import image_update
from servers.images.services.image_store import image_delete
from servers.models import Image
from servers.openstack.call import whole_seconds
from servers.openstack.compute.call import ComputeCall
from servers.openstack.compute.lists.values import moment
from servers.openstack.compute.schemas.parts import METADATA, closed
from servers.openstack.paging import SortKey, page_after

STATUSES = {
    ImageStatus.QUEUED: "SAVING",
    ImageStatus.SAVING: "SAVING",
    ImageStatus.ACTIVE: "ACTIVE",
    ImageStatus.KILLED: "ERROR",
    ImageStatus.DELETED: "DELETED",
}
PROGRESS = {ImageStatus.QUEUED: 25, ImageStatus.SAVING: 50, ImageStatus.ACTIVE: 100}
SERVER_OF_IMAGE, DISK_CONFIG, TYPE = "instance_uuid", "auto_disk_config", "image_type"
ITEMS = CompiledSchema(closed(["metadata"], metadata=METADATA))
ITEM = CompiledSchema(closed(["meta"], meta={**METADATA, "minProperties": 1, "maxProperties": 1}))


def images_list(call: ComputeCall) -> HttpResponse:
    """Ids and names."""
    return _page(call, _short, "images")


def images_detail(call: ComputeCall) -> HttpResponse:
    """The same with what they say of themselves."""
    return _page(call, _document, "images", "detail")


def _page(call: ComputeCall, document: Callable[[ComputeCall, Image], dict[str, Any]], *path: str) -> HttpResponse:
    rows, marker = _filtered(call), None
    if asked := call.query.get("marker"):
        known = parse_uuid(asked)
        marker = rows.filter(pk=known).first() if known else None
        if marker is None:
            raise bad_request(f"marker [{asked:.80}] not found")
    found, is_more = page_after(rows, [SortKey("created_at", is_descending=True)], marker=marker, limit=call.limit())
    answer: dict[str, Any] = {"images": [document(call, one) for one in found]}
    if is_more and found:
        answer["images_links"] = call.next_links(found[-1].pk, *path)
    return call.answer(answer)


def _filtered(call: ComputeCall) -> QuerySet[Image]:
    """By name, status, server, type, sizes, and when they were changed."""
    rows, query = images_listed(caller=call.caller), call.query
    if name := query.get("name"):
        rows = rows.filter(name=name)
    if status := query.get("status"):
        rows = rows.filter(status__in=[ours.value for ours, shown in STATUSES.items() if shown == status.upper()])
    if server := query.get("server"):
        rows = rows.filter(**{f"properties__{SERVER_OF_IMAGE}": server.rstrip("/").rpartition("/")[2]})
    if kind := query.get("type"):
        snapshots = rows.filter(**{f"properties__{TYPE}": "snapshot"}).values("pk")
        rows = rows.filter(pk__in=snapshots) if kind == "snapshot" else rows.exclude(pk__in=snapshots)
    for name, column in (("minRam", "min_ram_mib"), ("minDisk", "min_disk_gib")):
        if name in query:
            rows = rows.filter(**{f"{column}__gte": call.whole_number(name, 0, maximum=2**31 - 1)})
    if since := query.get("changes-since"):
        rows = rows.filter(updated_at__gte=moment("changes-since", since))
    return rows


def image_show(call: ComputeCall, image_id: str) -> HttpResponse:
    """One of them."""
    return call.answer({"image": _document(call, _found(call, image_id))})


def image_remove(call: ComputeCall, image_id: str) -> HttpResponse:
    """Gone; servers that were made of it stay."""
    image_delete(caller=call.caller, image_id=_found(call, image_id).pk)
    return call.empty()


def metadata_show(call: ComputeCall, image_id: str) -> HttpResponse:
    """Its properties."""
    return call.answer({"metadata": _metadata(_found(call, image_id))})


def metadata_merge(call: ComputeCall, image_id: str) -> HttpResponse:
    """Some of them."""
    asked, image = call.named("metadata", ITEMS), _found(call, image_id)
    return call.answer({"metadata": _written(call, image.pk, {**image.properties, **asked})})


def metadata_replace(call: ComputeCall, image_id: str) -> HttpResponse:
    """All of them."""
    asked, image = call.named("metadata", ITEMS), _found(call, image_id)
    return call.answer({"metadata": _written(call, image.pk, asked)})


def metadata_item_show(call: ComputeCall, image_id: str, key: str) -> HttpResponse:
    """One of them."""
    found = _metadata(_found(call, image_id))
    if key not in found:
        raise not_found("Metadata item was not found")
    return call.answer({"meta": {key: found[key]}})


def metadata_item_put(call: ComputeCall, image_id: str, key: str) -> HttpResponse:
    """One of them: the body says its key once more."""
    asked, image = call.named("meta", ITEM), _found(call, image_id)
    if key not in asked:
        raise bad_request("Request body and URI mismatch")
    _written(call, image.pk, {**image.properties, **asked})
    return call.answer({"meta": asked})


def metadata_item_remove(call: ComputeCall, image_id: str, key: str) -> HttpResponse:
    """One less."""
    image = _found(call, image_id)
    if key not in image.properties:
        raise not_found("Invalid metadata key")
    _written(call, image.pk, {name: value for name, value in image.properties.items() if name != key})
    return call.empty()


def _written(call: ComputeCall, image_id: uuid.UUID, properties: dict[str, Any]) -> dict[str, str]:
    return _metadata(image_update(caller=call.caller, image_id=image_id, changes={"properties": properties}))


def _found(call: ComputeCall, image_id: str) -> Image:
    known = parse_uuid(image_id)
    if known is None:
        raise not_found("Image not found.")
    return image_get(caller=call.caller, image_id=known)


def _metadata(image: Image) -> dict[str, str]:
    return {name: str(value) for name, value in image.properties.items()}


def _short(call: ComputeCall, image: Image) -> dict[str, Any]:
    glance = call.request.build_absolute_uri(f"/image/images/{image.pk}")
    alternate = {"rel": "alternate", "type": "application/vnd.openstack.image", "href": glance}
    return {"id": str(image.pk), "name": image.name, "links": [*call.links("images", image.pk), alternate]}


def _document(call: ComputeCall, image: Image) -> dict[str, Any]:
    status = ImageStatus(image.status)
    shown = {
        **_short(call, image),
        "minDisk": image.min_disk_gib,
        "minRam": image.min_ram_mib,
        "metadata": _metadata(image),
        "created": whole_seconds(image.created_at),
        "updated": whole_seconds(image.updated_at),
        "status": STATUSES.get(status, "UNKNOWN"),
        "progress": PROGRESS.get(status, 0),
        "OS-EXT-IMG-SIZE:size": image.size_bytes,
    }
    if server_id := image.properties.get(SERVER_OF_IMAGE):
        shown["server"] = {"id": server_id, "links": call.links("servers", server_id)}
    if DISK_CONFIG in image.properties:
        is_auto = str(image.properties[DISK_CONFIG]).lower() in {"true", "1", "auto", "yes"}
        shown["OS-DCF:diskConfig"] = "AUTO" if is_auto else "MANUAL"
    return shown
