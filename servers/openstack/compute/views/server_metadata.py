"""Metadata and tags of a server."""

from django.http import HttpResponse

from controlplane.openstack.faults import bad_request, not_found
from controlplane.openstack.schemas import CompiledSchema
from servers.instances.selectors.instances import instance_details
from servers.instances.services.update import (
    instance_update,
    metadata_item_delete,
    metadata_item_set,
    metadata_items_set,
    tag_add,
    tag_remove,
)
from servers.openstack.compute.call import ComputeCall, uuid_of
from servers.openstack.compute.schemas.parts import METADATA, TAGS, closed
from servers.openstack.compute.views.servers import server_found

METADATA_BODY = CompiledSchema(closed(["metadata"], metadata=METADATA))
META_BODY = CompiledSchema(closed(["meta"], meta={**METADATA, "minProperties": 1, "maxProperties": 1}))
TAGS_BODY = CompiledSchema(closed(["tags"], tags=TAGS))


def metadata_show(call: ComputeCall, server_id: str) -> HttpResponse:
    """All items."""
    return call.answer({"metadata": dict(server_found(call, server_id).metadata)})


def metadata_merge(call: ComputeCall, server_id: str) -> HttpResponse:
    """Sets those that the body has; the others stay."""
    items = call.body(METADATA_BODY)["metadata"]
    changed = metadata_items_set(caller=call.caller, instance_id=uuid_of(server_id, what="Instance"), items=items)
    return call.answer({"metadata": dict(changed.metadata)})


def metadata_replace(call: ComputeCall, server_id: str) -> HttpResponse:
    """Has those that the body has, and no others."""
    changes = call.body(METADATA_BODY)
    changed = instance_update(caller=call.caller, instance_id=uuid_of(server_id, what="Instance"), changes=changes)
    return call.answer({"metadata": dict(changed.metadata)})


def metadata_item_show(call: ComputeCall, server_id: str, key: str) -> HttpResponse:
    """One item; 404 where there is none."""
    metadata = server_found(call, server_id).metadata
    if key not in metadata:
        raise not_found("Metadata item was not found")
    return call.answer({"meta": {key: metadata[key]}})


def metadata_item_put(call: ComputeCall, server_id: str, key: str) -> HttpResponse:
    """Sets one item, whose key stands in the path and in the body."""
    meta = call.body(META_BODY)["meta"]
    if key not in meta:
        raise bad_request("Request body and URI mismatch")
    instance_id = uuid_of(server_id, what="Instance")
    metadata_item_set(caller=call.caller, instance_id=instance_id, key=key, value=meta[key])
    return call.answer({"meta": meta})


def metadata_item_remove(call: ComputeCall, server_id: str, key: str) -> HttpResponse:
    """404 where there is none."""
    metadata_item_delete(caller=call.caller, instance_id=uuid_of(server_id, what="Instance"), key=key)
    return call.empty()


def _tags(call: ComputeCall, server_id: str) -> list[str]:
    return list(instance_details(server_found(call, server_id)).tags)


def tags_list(call: ComputeCall, server_id: str) -> HttpResponse:
    """All of them."""
    return call.answer({"tags": _tags(call, server_id)})


def tags_replace(call: ComputeCall, server_id: str) -> HttpResponse:
    """Has those that the body has, and no others."""
    changes = call.body(TAGS_BODY)
    changed = instance_update(caller=call.caller, instance_id=uuid_of(server_id, what="Instance"), changes=changes)
    return call.answer({"tags": list(instance_details(changed).tags)})


def tags_clear(call: ComputeCall, server_id: str) -> HttpResponse:
    """Takes all off."""
    instance_update(caller=call.caller, instance_id=uuid_of(server_id, what="Instance"), changes={"tags": []})
    return call.empty()


def tag_check(call: ComputeCall, server_id: str, tag: str) -> HttpResponse:
    """204 where it has the tag, else 404."""
    if tag not in _tags(call, server_id):
        raise not_found(f"Server {server_id:.80} has no tag '{tag:.80}'")
    return call.empty()


def tag_put(call: ComputeCall, server_id: str, tag: str) -> HttpResponse:
    """Puts it on: 201, or 204 where it was there."""
    had = tag in _tags(call, server_id)
    tag_add(caller=call.caller, instance_id=uuid_of(server_id, what="Instance"), tag=tag)
    where = "" if had else call.absolute_url("v2.1", "servers", server_id, "tags", tag)
    return call.empty(status=204 if had else 201, location=where)


def tag_delete(call: ComputeCall, server_id: str, tag: str) -> HttpResponse:
    """Takes it off; 404 where it has none such."""
    tag_remove(caller=call.caller, instance_id=uuid_of(server_id, what="Instance"), tag=tag)
    return call.empty()
