"""Key pairs of the caller; from 2.10 on administrators manage those of others too."""

import uuid
from typing import Any

from django.http import HttpResponse

from controlplane.identity.selectors.people import user_get
from controlplane.kernel.errors import Forbidden, NotFound
from controlplane.kernel.ids import parse_uuid
from controlplane.openstack.described import QueryNames
from controlplane.openstack.faults import bad_request
from servers.catalog.selectors.keypair import keypair_get, keypairs_of
from servers.catalog.services.keypair import keypair_create, keypair_delete, keypair_generate
from servers.models import KeyPair
from servers.openstack.call import micro_seconds
from servers.openstack.compute.call import ComputeCall
from servers.openstack.compute.faults import named_in_body
from servers.openstack.compute.schemas.keypairs import TYPES_SINCE, USERS_SINCE, keypair_create_schema
from servers.openstack.paging import SortKey, page_after

PAGES_SINCE = 35
LIST_NAMES, ONE_NAMES = QueryNames({"user_id", "limit", "marker"}), QueryNames({"user_id"})


def keypairs_list(call: ComputeCall) -> HttpResponse:
    """By name, each in an object of its own."""
    call.check_names(LIST_NAMES)
    rows = keypairs_of(user_id=_owner(call, call.query.get("user_id")))
    if call.minor < PAGES_SINCE:
        return call.answer({"keypairs": [{"keypair": _short(call, row)} for row in rows.order_by("name")]})
    marker = None
    if name := call.query.get("marker"):
        marker = rows.filter(name=name).first()
        if marker is None:
            raise bad_request(f"marker [{name:.80}] not found")
    found, is_more = page_after(rows, [SortKey("name")], marker=marker, limit=call.limit())
    answer: dict[str, Any] = {"keypairs": [{"keypair": _short(call, row)} for row in found]}
    if is_more and found:
        answer["keypairs_links"] = call.next_links(found[-1].name, "os-keypairs")
    return call.answer(answer)


def keypair_show(call: ComputeCall, name: str) -> HttpResponse:
    """One of them."""
    call.check_names(ONE_NAMES)
    row = keypair_get(user_id=_owner(call, call.query.get("user_id")), name=name)
    facts = {
        "user_id": row.user_id.hex,
        "id": row.pk,
        "created_at": micro_seconds(row.created_at),
        "updated_at": None,
        "deleted": False,
        "deleted_at": None,
    }
    return call.answer({"keypair": {**_short(call, row), **facts}})


def keypair_add(call: ComputeCall) -> HttpResponse:
    """Keep a public key; without one a pair is made (until 2.91), and its private half answered this once."""
    asked = call.named("keypair", keypair_create_schema(call.minor))
    if asked.get("type", "ssh") != "ssh":
        raise bad_request("Key pairs of type x509 are not kept here: only those of type ssh.")
    with named_in_body():
        owner = _owner(call, asked.get("user_id"))
        user_get(user_id=owner)
    of: dict[str, Any] = {"user_id": owner, "project_id": call.caller.project_id, "name": asked["name"]}
    if "public_key" in asked:
        row, private = keypair_create(public_key=asked["public_key"], **of), {}
    else:
        made = keypair_generate(**of)
        row, private = made.keypair, {"private_key": made.private_key}
    shown = {**_short(call, row), "user_id": row.user_id.hex, **private}
    return call.answer({"keypair": shown}, status=201 if call.minor >= TYPES_SINCE else 200)


def keypair_remove(call: ComputeCall, name: str) -> HttpResponse:
    """Gone; instances keep what they were made with."""
    call.check_names(ONE_NAMES)
    keypair_delete(user_id=_owner(call, call.query.get("user_id")), name=name)
    return call.empty(status=204 if call.minor >= TYPES_SINCE else 202)


def _owner(call: ComputeCall, asked: str | None) -> uuid.UUID:
    """Whose key pairs are meant. Raises Forbidden for another user's, unless an administrator asks."""
    own = call.caller.user_id
    if asked is None or call.minor < USERS_SINCE:
        return own
    owner = parse_uuid(asked)
    if owner != own and not call.caller.is_admin:
        raise Forbidden("Policy doesn't allow key pairs of other users to be used.")
    if owner is None:
        raise NotFound(f"User {asked:.80} could not be found.")
    return owner


def _short(call: ComputeCall, row: KeyPair) -> dict[str, Any]:
    shown = {"name": row.name, "public_key": row.given_text or row.public_key, "fingerprint": row.fingerprint}
    return {**shown, "type": row.type} if call.minor >= TYPES_SINCE else shown
