"""Application credentials of users."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.utils.dateparse import parse_datetime

from controlplane.identity.domain import Caller, Role
from controlplane.identity.domain.application_credential import roles_of_text
from controlplane.identity.models import ApplicationCredential
from controlplane.identity.openstack.access import IdentityAccess
from controlplane.identity.openstack.call import IdentityCall, refusals_answered
from controlplane.identity.openstack.lookups import require_unless_own, user_found
from controlplane.identity.openstack.schemas import APPLICATION_CREDENTIAL_CREATE
from controlplane.identity.openstack.shapes import (
    CredentialJson,
    CredentialShown,
    CredentialsShown,
    NewCredentialJson,
    NewCredentialShown,
)
from controlplane.identity.selectors.application_credentials import (
    application_credential_get,
    application_credentials_of,
)
from controlplane.identity.services import application_credential_create, application_credential_delete
from controlplane.kernel.errors import Invalid
from controlplane.kernel.ids import parse_uuid
from controlplane.kernel.moments import in_utc
from controlplane.openstack.answers import Empty, JsonAnswer
from controlplane.openstack.faults import ApiFault, bad_request, not_found


def credentials_list(call: IdentityCall, user_id: str) -> JsonAnswer[CredentialsShown]:
    """One's own, or anybody's for those who may read users."""
    owner = _owner(call, user_id, IdentityAccess.USERS_READ)
    rows = application_credentials_of(user_id=owner)
    if name := call.query.get("name"):
        rows = rows.filter(name=name)
    found = [_credential_json(call, one) for one in rows]
    return call.answer(
        {"application_credentials": found, "links": call.list_links("users", user_id, "application_credentials")}
    )


def credential_show(call: IdentityCall, user_id: str, credential_id: str) -> JsonAnswer[CredentialShown]:
    """One of them, without its secret."""
    owner = _owner(call, user_id, IdentityAccess.USERS_READ)
    row = application_credential_get(user_id=owner, credential_id=_id(credential_id))
    return call.answer({"application_credential": _credential_json(call, row)})


def credential_add(call: IdentityCall, user_id: str) -> JsonAnswer[NewCredentialShown]:
    """For oneself, in the project of one's token. The answer has the secret, and nothing has it later."""
    if parse_uuid(user_id) != call.held.user_id:
        raise ApiFault(403, "Only the user makes application credentials.")
    asked = call.body(APPLICATION_CREDENTIAL_CREATE)["application_credential"]
    caller = call.held.caller
    if caller is None:
        raise ApiFault(403, "An application credential is of a project; this token has none.")
    try:
        with refusals_answered():
            issued = application_credential_create(caller=caller, **_fields(caller, asked))
    except Invalid as error:
        raise bad_request(f"{error.field or ''}: {error.message}".removeprefix(": ")) from error
    document: NewCredentialJson = {**_credential_json(call, issued.row), "secret": issued.secret}
    return call.answer({"application_credential": document}, status=201)


def credential_remove(call: IdentityCall, user_id: str, credential_id: str) -> Empty:
    """It ends now, and so do its tokens: one's own, or anybody's for those who may write users."""
    owner = _owner(call, user_id, IdentityAccess.USERS_WRITE)
    caller = call.held.caller
    if caller is None:
        raise ApiFault(403, "A token of a project is needed; this one has none.")
    with refusals_answered():
        application_credential_delete(caller=caller, user_id=owner, credential_id=_id(credential_id))
    return call.empty()


def _owner(call: IdentityCall, user_id: str, access: IdentityAccess) -> UUID:
    require_unless_own(call, access, is_own=parse_uuid(user_id) == call.held.user_id)
    return user_found(user_id).pk


def _id(text: str) -> UUID:
    known = parse_uuid(text)
    if known is None:
        raise not_found(f"Could not find application credential: {text:.80}.")
    return known


def _fields(caller: Caller, asked: dict[str, Any]) -> dict[str, Any]:
    """As the service takes them. Raises Fault 400 for what is not kept here."""
    if asked.get("access_rules"):
        raise bad_request("access_rules: a credential is narrowed by roles here, not by paths; leave them out.")
    if asked.get("project_id") and parse_uuid(asked["project_id"]) != caller.own_project_id:
        raise bad_request("project_id: an application credential is of the project of the token that makes it.")
    return {
        "name": asked["name"],
        "description": asked.get("description") or "",
        "secret": asked.get("secret"),
        "roles": [_role(one) for one in asked.get("roles") or ()],
        "expires_at": _moment(asked.get("expires_at")),
        "unrestricted": bool(asked.get("unrestricted")),
    }


def _role(named: dict[str, Any]) -> Role:
    name = named.get("id") or named.get("name") or ""
    if name not in {role.value for role in Role}:
        raise bad_request(f"roles: there is no role {name:.80}.")
    return Role(name)


def _moment(text: str | None) -> datetime | None:
    """An ISO 8601 moment; without an offset it is UTC."""
    if not text:
        return None
    try:
        if found := parse_datetime(text):
            return in_utc(found)
    except ValueError:
        pass
    raise bad_request("expires_at: it is no ISO 8601 moment, such as 2026-12-31T12:00:00Z.")


def _credential_json(call: IdentityCall, row: ApplicationCredential) -> CredentialJson:
    names = [role.value for role in sorted(roles_of_text(row.roles))]
    return {
        "id": row.pk.hex,
        "name": row.name,
        "description": row.description or None,
        "user_id": row.user_id.hex,
        "project_id": row.project_id.hex,
        "system": None,
        "roles": [{"id": name, "name": name, "domain_id": None} for name in names],
        "expires_at": row.expires_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f") if row.expires_at else None,
        "unrestricted": row.unrestricted,
        "links": {"self": call.absolute_url("v3", "users", row.user_id.hex, "application_credentials", row.pk.hex)},
    }
