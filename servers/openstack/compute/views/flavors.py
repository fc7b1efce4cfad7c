"""Flavors: list, show, create, describe, delete."""

from collections.abc import Callable
from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpResponse

from controlplane.kernel.errors import NotFound
from controlplane.kernel.ids import parse_uuid
from controlplane.openstack.described import QueryNames
from controlplane.openstack.faults import bad_request
from servers.catalog.selectors.flavor import flavor_known_as, flavors_visible
from servers.catalog.services.flavor import flavor_create, flavor_delete, flavor_update
from servers.models import Flavor
from servers.openstack.compute.call import ComputeCall
from servers.openstack.compute.documents.flavors import flavor_document, flavor_short
from servers.openstack.compute.schemas.flavors import FLAVOR_UPDATE, flavor_create_schema
from servers.openstack.compute.schemas.parts import is_yes
from servers.openstack.paging import SortKey, page_after

LIST_NAMES = QueryNames({"limit", "marker", "is_public", "minRam", "minDisk", "sort_key", "sort_dir"})
SORT_COLUMNS = {
    "id": "pk",
    "flavorid": "pk",
    "name": "name",
    "memory_mb": "memory_mib",
    "vcpus": "vcpus",
    "root_gb": "root_gib",
    "ephemeral_gb": "ephemeral_gib",
    "swap": "swap_mib",
    "rxtx_factor": "rxtx_factor",
    "disabled": "disabled",
    "is_public": "is_public",
    "created_at": "created_at",
    "updated_at": "updated_at",
}
USUAL_ORDER = (SortKey("memory_mib"), SortKey("vcpus"), SortKey("name"))
TRUE, FALSE = frozenset({"t", "true", "on", "y", "yes", "1"}), frozenset({"f", "false", "off", "n", "no", "0"})


def flavors_list(call: ComputeCall) -> HttpResponse:
    """Ids and names."""
    return _page(call, flavor_short, "flavors")


def flavors_detail(call: ComputeCall) -> HttpResponse:
    """The same with all that they say."""
    return _page(call, flavor_document, "flavors", "detail")


def _page(call: ComputeCall, document: Callable[[ComputeCall, Flavor], dict[str, Any]], *path: str) -> HttpResponse:
    call.check_names(LIST_NAMES)
    rows = _filtered(call)
    marker = None
    if asked := call.query.get("marker"):
        try:
            marker = flavor_known_as(caller=call.caller, wire_id=asked)
        except NotFound as error:
            raise bad_request(f"marker [{asked:.80}] not found") from error
    found, is_more = page_after(rows, _order(call), marker=marker, limit=call.limit())
    answer: dict[str, Any] = {"flavors": [document(call, flavor) for flavor in found]}
    if is_more and found:
        answer["flavors_links"] = call.next_links(found[-1].wire_id, *path)
    return call.answer(answer)


def _filtered(call: ComputeCall) -> QuerySet[Flavor]:
    """Public ones and the project's own; administrators may ask for those that are not public, or for both (`None`)."""
    rows = flavors_visible(caller=call.caller)
    for name, column in (("minRam", "memory_mib"), ("minDisk", "root_gib")):
        value = call.query.get(name)
        if value is None:
            continue
        if not (value.isascii() and value.isdecimal()) or len(value) > 12:
            raise bad_request(f"Invalid {name} filter [{value:.80}]")
        rows = rows.filter(**{f"{column}__gte": int(value)})
    if call.caller.sees_all and (is_public := _is_public(call.query.get("is_public"))) is not None:
        given = (
            Flavor.objects.none()
            if call.caller.is_of_system
            else Flavor.objects.filter(access__project_id=call.caller.project_id)
        )
        own = given.values("pk")
        rows = rows.filter(Q(is_public=True) | Q(pk__in=own) if is_public else Q(is_public=False))
    return rows


def _is_public(text: str | None) -> bool | None:
    if text is None:
        return True
    word = text.lower()
    if word not in TRUE | FALSE | {"none"}:
        raise bad_request(f"Invalid is_public filter [{text:.80}]")
    return None if word == "none" else word in TRUE


def _order(call: ComputeCall) -> list[SortKey]:
    key, direction = call.query.get("sort_key"), call.query.get("sort_dir", "asc")
    if direction not in {"asc", "desc"}:
        raise bad_request(f"Invalid sort_dir [{direction:.80}]: it is asc or desc.")
    if key is None:
        return [SortKey(one.column, direction == "desc") for one in USUAL_ORDER]
    if key not in SORT_COLUMNS:
        raise bad_request(f"Invalid sort_key [{key:.80}]")
    return [SortKey(SORT_COLUMNS[key], direction == "desc")]


def flavor_show(call: ComputeCall, flavor_id: str) -> HttpResponse:
    """One of them."""
    return _answered(call, flavor_known_as(caller=call.caller, wire_id=flavor_id))


def flavor_add(call: ComputeCall) -> HttpResponse:
    """A new one. Its id may be chosen by who makes it; without one it is a uuid."""
    asked = call.named("flavor", flavor_create_schema(call.minor))
    text = None if asked.get("id") is None else str(asked["id"])
    known = parse_uuid(text) if text else None
    made = flavor_create(
        name=asked["name"],
        vcpus=int(asked["vcpus"]),
        memory_mib=int(asked["ram"]),
        root_gib=int(asked["disk"]),
        ephemeral_gib=int(asked.get("OS-FLV-EXT-DATA:ephemeral", 0)),
        swap_mib=int(asked.get("swap", 0)),
        is_public=is_yes(asked.get("os-flavor-access:is_public", True)),
        description=asked.get("description") or "",
        flavor_id=known if known is not None else text,
        rxtx_factor=float(asked.get("rxtx_factor", 1.0)),
    )
    return _answered(call, made)


def flavor_change(call: ComputeCall, flavor_id: str) -> HttpResponse:
    """Another description; nothing else of a flavor changes here."""
    asked = call.named("flavor", FLAVOR_UPDATE)
    flavor = flavor_known_as(caller=call.caller, wire_id=flavor_id)
    return _answered(call, flavor_update(flavor_id=flavor.pk, changes={"description": asked["description"] or ""}))


def flavor_remove(call: ComputeCall, flavor_id: str) -> HttpResponse:
    """Off the offer; what runs goes on."""
    flavor_delete(flavor_id=flavor_known_as(caller=call.caller, wire_id=flavor_id).pk)
    return call.empty(status=202)


def _answered(call: ComputeCall, flavor: Flavor) -> HttpResponse:
    return call.answer({"flavor": flavor_document(call, flavor)})
