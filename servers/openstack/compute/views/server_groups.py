"""Server groups of the caller's project."""

from typing import Any

from django.http import HttpResponse

from controlplane.kernel.errors import Forbidden
from controlplane.openstack.described import QueryNames
from servers.catalog.selectors.server_group import server_group_get, server_groups_visible
from servers.catalog.services.server_group import server_group_create, server_group_delete
from servers.models import ServerGroup
from servers.openstack.compute.call import MAX_LIMIT, ComputeCall, uuid_of
from servers.openstack.compute.schemas.server_groups import RULES_SINCE, group_create_schema

OWNERS_SINCE = 13
LIST_NAMES = QueryNames({"all_projects", "limit", "offset"})
OFFSET_MAX = 10**9


def groups_list(call: ComputeCall) -> HttpResponse:
    """Those of the project; administrators may ask for `all_projects`."""
    call.check_names(LIST_NAMES)
    rows = server_groups_visible(caller=call.caller)
    if "all_projects" not in call.query:
        rows = rows.filter(project_id=call.caller.project_id)
    elif not call.caller.sees_all:
        raise Forbidden("Policy doesn't allow server groups of all projects to be listed.")
    start = call.whole_number("offset", 0, maximum=OFFSET_MAX)
    stop = start + (call.limit() or MAX_LIMIT)
    return call.answer(
        {"server_groups": [_document(call, row) for row in rows.order_by("created_at", "pk")[start:stop]]}
    )


def group_show(call: ComputeCall, group_id: str) -> HttpResponse:
    """One of them."""
    row = server_group_get(caller=call.caller, group_id=uuid_of(group_id, what="Server group"))
    return call.answer({"server_group": _document(call, row)})


def group_add(call: ComputeCall) -> HttpResponse:
    """A new, empty one."""
    asked = call.named("server_group", group_create_schema(call.minor))
    policy = asked["policy"] if "policy" in asked else asked["policies"][0]
    rules = {name: int(value) for name, value in asked.get("rules", {}).items()}
    row = server_group_create(caller=call.caller, name=asked["name"], policy=policy, rules=rules)
    return call.answer({"server_group": _document(call, row)})


def group_remove(call: ComputeCall, group_id: str) -> HttpResponse:
    """Gone; its servers stay."""
    server_group_delete(caller=call.caller, group_id=uuid_of(group_id, what="Server group"))
    return call.empty()


def _document(call: ComputeCall, row: ServerGroup) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "id": str(row.pk),
        "name": row.name,
        "members": [str(member.instance_uuid) for member in row.members.all()],
    }
    if call.minor >= OWNERS_SINCE:
        shown |= {"project_id": row.project_id.hex, "user_id": row.user_id.hex}
    if call.minor >= RULES_SINCE:
        return shown | {"policy": row.policy, "rules": row.rules}
    return shown | {"policies": [row.policy], "metadata": {}}
