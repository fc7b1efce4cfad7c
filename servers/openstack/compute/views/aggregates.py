"""Aggregates, which have a whole number for an id in every microversion."""

import uuid
from typing import Any

from django.http import HttpResponse

from controlplane.openstack.faults import bad_request, not_found
from scheduling.errors import HostInUse
from scheduling.fleet.domain.aggregate_keys import ZONE
from scheduling.fleet.selectors.aggregates import AggregateRow, aggregates_with_hosts
from scheduling.fleet.services.aggregates import (
    aggregate_create,
    aggregate_delete,
    aggregate_host_add,
    aggregate_host_remove,
    aggregate_update,
)
from servers.images.services.host_images import aggregate_images_cache
from servers.openstack.call import micro_seconds
from servers.openstack.compute.call import ComputeCall
from servers.openstack.compute.numbers import number_in, number_of, numbered
from servers.openstack.compute.schemas.aggregates import (
    AGGREGATE_ACTION,
    AGGREGATE_CREATE,
    AGGREGATE_IMAGES,
    AGGREGATE_UPDATE,
)

UUIDS_SINCE = 41


def aggregates_list(call: ComputeCall) -> HttpResponse:
    """All of them."""
    return call.answer({"aggregates": [_document(call, row) for row in aggregates_with_hosts()]})


def aggregate_show(call: ComputeCall, number: str) -> HttpResponse:
    """One of them."""
    return _answered(call, _found(number))


def aggregate_add(call: ComputeCall) -> HttpResponse:
    """A new one; the answer says neither hosts nor metadata, of which it has none to speak of."""
    asked = call.named("aggregate", AGGREGATE_CREATE)
    made = aggregate_create(name=asked["name"], availability_zone=asked.get("availability_zone"))
    shown = _document(call, made)
    del shown["hosts"], shown["metadata"]
    return call.answer({"aggregate": shown})


def aggregate_change(call: ComputeCall, number: str) -> HttpResponse:
    """Another name, another zone."""
    asked = call.named("aggregate", AGGREGATE_UPDATE)
    zone = {ZONE: asked["availability_zone"]} if "availability_zone" in asked else None
    row = _found(number)
    aggregate_update(aggregate_id=row.pk, name=asked.get("name"), metadata=zone)
    return _answered(call, _found(number))


def aggregate_remove(call: ComputeCall, number: str) -> HttpResponse:
    """Gone, if no host is in it any more."""
    try:
        aggregate_delete(aggregate_id=_found(number).pk)
    except HostInUse as error:
        raise bad_request(error.message) from error
    return call.empty(status=200)


def aggregate_action(call: ComputeCall, number: str) -> HttpResponse:
    """A host in or out, or other metadata, of which null takes a key away."""
    ((action, said),) = call.body(AGGREGATE_ACTION).items()
    aggregate_id = _found(number).pk
    match action:
        case "add_host":
            aggregate_host_add(aggregate_id=aggregate_id, host=said["host"])
        case "remove_host":
            aggregate_host_remove(aggregate_id=aggregate_id, host=said["host"])
        case _:
            aggregate_update(aggregate_id=aggregate_id, metadata=said["metadata"])
    return _answered(call, _found(number))


def aggregate_images(call: ComputeCall, number: str) -> HttpResponse:
    """Its hosts fetch these images before guests need them."""
    asked = call.named("cache", AGGREGATE_IMAGES)
    aggregate_images_cache(
        aggregate_id=_found(number).pk,
        image_ids=[uuid.UUID(image["id"]) for image in asked],
        asked_by=call.caller.username,
    )
    return call.empty(status=202)


def _found(number: str) -> AggregateRow:
    known = number_in(number, what="aggregate id")
    row = aggregates_with_hosts().filter(numbered(known)).first()
    if row is None:
        raise not_found(f"Aggregate {known} could not be found.")
    return row


def _answered(call: ComputeCall, row: AggregateRow) -> HttpResponse:
    return call.answer({"aggregate": _document(call, row)})


def _document(call: ComputeCall, row: AggregateRow) -> dict[str, Any]:
    shown = {
        "id": number_of(row.pk),
        "name": row.name,
        "availability_zone": row.availability_zone,
        "hosts": [member.host for member in row.members.all()],
        "metadata": row.metadata,
        "created_at": micro_seconds(row.created_at),
        "updated_at": micro_seconds(row.updated_at),
        "deleted": False,
        "deleted_at": None,
    }
    return {**shown, "uuid": str(row.pk)} if call.minor >= UUIDS_SINCE else shown
