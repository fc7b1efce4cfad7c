"""Groups of users, and who is in them."""

from typing import Any

from controlplane.identity.openstack.access import IdentityAccess
from controlplane.identity.openstack.call import DOMAIN, IdentityCall, is_default_domain, refusals_answered
from controlplane.identity.openstack.lookups import domain_require, group_found, require_unless_own, user_found
from controlplane.identity.openstack.project_json import group_json, user_json
from controlplane.identity.openstack.schemas import GROUP_CREATE, GROUP_UPDATE
from controlplane.identity.openstack.shapes import GroupShown, GroupsShown, UsersShown
from controlplane.identity.selectors.groups import groups_listed, groups_of, members_of
from controlplane.identity.services import (
    group_create,
    group_member_add,
    group_member_remove,
    group_update,
    groups_delete,
)
from controlplane.kernel.ids import parse_uuid
from controlplane.openstack.answers import Empty, JsonAnswer
from controlplane.openstack.faults import not_found


def groups_list(call: IdentityCall) -> JsonAnswer[GroupsShown]:
    """All of them, or those that the filters name, in one page."""
    rows = groups_listed()
    if name := call.query.get("name"):
        rows = rows.filter(name=name)
    if not is_default_domain(call.query.get("domain_id", DOMAIN)):
        rows = rows.none()
    return call.answer({"groups": [group_json(call, one) for one in rows], "links": call.list_links("groups")})


def group_add(call: IdentityCall) -> JsonAnswer[GroupShown]:
    """A new group, without members and roles."""
    asked = call.body(GROUP_CREATE)["group"]
    with refusals_answered():
        row = group_create(**_fields(asked))
    return call.answer({"group": group_json(call, row)}, status=201)


def group_show(call: IdentityCall, group_id: str) -> JsonAnswer[GroupShown]:
    """One group."""
    return call.answer({"group": group_json(call, group_found(group_id))})


def group_change(call: IdentityCall, group_id: str) -> JsonAnswer[GroupShown]:
    """What is left out stays."""
    asked = call.body(GROUP_UPDATE)["group"]
    row = group_found(group_id)
    with refusals_answered():
        row = group_update(group=row, **_fields(asked))
    return call.answer({"group": group_json(call, row)})


def group_remove(call: IdentityCall, group_id: str) -> Empty:
    """Gone, with the roles that its members had by it."""
    groups_delete(group_ids=[group_found(group_id).pk])
    return call.empty()


def members_list(call: IdentityCall, group_id: str) -> JsonAnswer[UsersShown]:
    """Who is in it."""
    rows = members_of(group=group_found(group_id))
    return call.answer(
        {"users": [user_json(call, one) for one in rows], "links": call.list_links("groups", group_id, "users")}
    )


def member_check(call: IdentityCall, group_id: str, user_id: str) -> Empty:
    """204 for who is in it, else 404."""
    if not members_of(group=group_found(group_id)).filter(pk=user_found(user_id).pk).exists():
        raise not_found(f"Could not find user: {user_id:.64}, in group: {group_id:.64}.")
    return call.empty()


def member_add(call: IdentityCall, group_id: str, user_id: str) -> Empty:
    """Put in; who is in it stays in it."""
    group_member_add(group=group_found(group_id), user=user_found(user_id))
    return call.empty()


def member_remove(call: IdentityCall, group_id: str, user_id: str) -> Empty:
    """Take out; 404 for who was not in it."""
    if not group_member_remove(group=group_found(group_id), user=user_found(user_id)):
        raise not_found(f"Could not find user: {user_id:.64}, in group: {group_id:.64}.")
    return call.empty()


def groups_of_user(call: IdentityCall, user_id: str) -> JsonAnswer[GroupsShown]:
    """The groups of a user: one's own, or anybody's for those who may read groups."""
    require_unless_own(call, IdentityAccess.GROUPS_READ, is_own=parse_uuid(user_id) == call.held.user_id)
    rows = groups_of(user=user_found(user_id))
    return call.answer(
        {"groups": [group_json(call, one) for one in rows], "links": call.list_links("users", user_id, "groups")}
    )


def _fields(asked: dict[str, Any]) -> Any:
    """As the service takes them. Raises Fault 404 for another domain than the only one."""
    domain_require(asked, "domain_id")
    return {key: asked[key] or "" if key == "description" else asked[key] for key in _FIELDS if key in asked}


_FIELDS = ("name", "description")
