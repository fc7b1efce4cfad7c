"""Users."""

from typing import Any

from controlplane.identity.addresses import address_of
from controlplane.identity.openstack.access import IdentityAccess
from controlplane.identity.openstack.call import DOMAIN, IdentityCall, is_default_domain, refusals_answered
from controlplane.identity.openstack.lookups import domain_require, require_unless_own, user_found
from controlplane.identity.openstack.project_json import user_json
from controlplane.identity.openstack.query import flag_asked
from controlplane.identity.openstack.schemas import PASSWORD_CHANGE, USER_CREATE, USER_UPDATE
from controlplane.identity.openstack.shapes import UserShown, UsersShown
from controlplane.identity.selectors import project_get
from controlplane.identity.selectors.people import users_listed
from controlplane.identity.services import user_create, user_update, users_delete
from controlplane.identity.services.users import user_password_change
from controlplane.kernel.errors import InvalidFields
from controlplane.kernel.ids import parse_uuid
from controlplane.openstack.answers import Empty, JsonAnswer
from controlplane.openstack.faults import ApiFault, bad_request


def users_list(call: IdentityCall) -> JsonAnswer[UsersShown]:
    """All of them, or those that the filters name, in one page."""
    rows = users_listed()
    if name := call.query.get("name"):
        rows = rows.filter(username=name)
    enabled = flag_asked(call, "enabled")
    if enabled is not None:
        rows = rows.filter(is_active=enabled)
    if not is_default_domain(call.query.get("domain_id", DOMAIN)):
        rows = rows.none()
    return call.answer({"users": [user_json(call, one) for one in rows], "links": call.list_links("users")})


def user_add(call: IdentityCall) -> JsonAnswer[UserShown]:
    """A new user, who has no role anywhere. Without a password nobody logs in as him."""
    asked = call.body(USER_CREATE)["user"]
    fields = _fields(asked)
    fields.setdefault("password", "")
    with refusals_answered():
        row = user_create(**fields)
    return call.answer({"user": user_json(call, row)}, status=201)


def user_show(call: IdentityCall, user_id: str) -> JsonAnswer[UserShown]:
    """One user: oneself, or anybody for those who may read users."""
    require_unless_own(call, IdentityAccess.USERS_READ, is_own=parse_uuid(user_id) == call.held.user_id)
    return call.answer({"user": user_json(call, user_found(user_id))})


def user_change(call: IdentityCall, user_id: str) -> JsonAnswer[UserShown]:
    """What is left out stays; a new password ends the user's tokens."""
    asked = call.body(USER_UPDATE)["user"]
    row = user_found(user_id)
    with refusals_answered():
        row = user_update(user=row, **_fields(asked))
    return call.answer({"user": user_json(call, row)})


def user_remove(call: IdentityCall, user_id: str) -> Empty:
    """Gone, with roles and tokens."""
    with refusals_answered():
        users_delete(user_ids=[user_found(user_id).pk])
    return call.empty()


def password_change(call: IdentityCall, user_id: str) -> Empty:
    """One's own password, for the one that is in force: no administrator's business."""
    if parse_uuid(user_id) != call.held.user_id:
        raise ApiFault(403, "Only the user changes the password this way.")
    asked = call.body(PASSWORD_CHANGE)["user"]
    with refusals_answered():
        try:
            user_password_change(
                user=user_found(user_id),
                current=asked["original_password"],
                new=asked["password"],
                address=address_of(call.request.META),
            )
        except InvalidFields as error:
            raise bad_request(error.message) from error
    return call.empty()


def _fields(asked: dict[str, Any]) -> dict[str, Any]:
    """As the services take them. Raises Fault 404 for another domain than the only one, 400 for a wrong project."""
    domain_require(asked, "domain_id")
    fields = {ours: asked[theirs] for theirs, ours in _FIELDS.items() if theirs in asked}
    if fields.get("email", "") is None:
        fields["email"] = ""
    if fields.get("password", "") is None:
        del fields["password"]
    for key in _DEFAULT_PROJECT:
        if key in asked:
            known = parse_uuid(asked[key]) if asked[key] else None
            if asked[key] and known is None:
                raise bad_request(f"{key} {asked[key]:.64} is no project.")
            fields["default_project"] = project_get(project_id=known) if known else None
    return fields


_DEFAULT_PROJECT = ("project_id", "default_project_id")
"""Old clients say the first, which Keystone keeps and does nothing with. Here it is the default project, unless the
second says another one.
"""
_FIELDS = {"name": "username", "password": "password", "email": "email", "enabled": "is_active"}
