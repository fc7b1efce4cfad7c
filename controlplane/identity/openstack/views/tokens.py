"""Tokens: issue, validate, revoke; and what a token is good for."""

from typing import Any

from controlplane.identity.addresses import address_of
from controlplane.identity.openstack.access import IdentityAccess, unauthorized
from controlplane.identity.openstack.call import DOMAIN, IdentityCall, refusals_answered
from controlplane.identity.openstack.catalog import catalog_of
from controlplane.identity.openstack.lookups import domain_of, require_unless_own
from controlplane.identity.openstack.project_json import project_json
from controlplane.identity.openstack.schemas import AUTH
from controlplane.identity.openstack.shapes import (
    CatalogShown,
    DomainsShown,
    ProjectsShown,
    SystemShown,
    TokenShown,
    WholeSystem,
)
from controlplane.identity.openstack.token_json import token_json
from controlplane.identity.selectors.held_roles import has_role_in_system
from controlplane.identity.selectors.own_projects import projects_of_user
from controlplane.identity.selectors.people import user_get, user_names
from controlplane.identity.selectors.token_facts import TokenFacts, token_facts
from controlplane.identity.services import token_revoke
from controlplane.identity.services.credential_logins import CredentialKey
from controlplane.identity.services.scoped_tokens import (
    CREDENTIAL,
    PASSWORD,
    TOKEN,
    TOTP,
    IssuedScopedToken,
    Scope,
    token_issue_by_credential,
    token_issue_by_password,
    token_issue_by_token,
)
from controlplane.kernel.ids import parse_uuid
from controlplane.openstack.answers import Empty, JsonAnswer
from controlplane.openstack.faults import ApiFault, bad_request, not_found

SUBJECT = "X-Subject-Token"
KNOWN = frozenset({PASSWORD, TOTP, TOKEN, CREDENTIAL})


def token_create(call: IdentityCall) -> JsonAnswer[TokenShown]:
    """A token by password (with a code where there is a second factor), application credential or another token."""
    auth = call.body(AUTH)["auth"]
    identity, scope = auth["identity"], _scope(auth.get("scope"))
    methods = list(dict.fromkeys(identity["methods"]))
    if unknown := [method for method in methods if method not in KNOWN]:
        raise unauthorized(f"Attempted to authenticate with an unsupported method: {unknown[0]}.")
    with refusals_answered():
        if methods == [TOKEN]:
            issued = token_issue_by_token(token=_part(identity, TOKEN)["id"], scope=scope)
        elif methods == [CREDENTIAL]:
            issued = _by_credential(call, _part(identity, CREDENTIAL), scope)
        elif PASSWORD in methods and not {TOKEN, CREDENTIAL} & set(methods):
            issued = _by_password(call, identity, scope, has_code=TOTP in methods)
        else:
            raise unauthorized("Name one method: password, password with totp, token, or application_credential.")
    response = _token_answer(call, issued.facts, status=201)
    response[SUBJECT] = issued.token
    return response


def _by_password(call: IdentityCall, identity: dict[str, Any], scope: Scope, *, has_code: bool) -> IssuedScopedToken:
    user = _part(identity, PASSWORD)["user"]
    username = _username(user)
    code = None
    if has_code:
        factor = _part(identity, TOTP)["user"]
        if _username(factor) != username:
            raise unauthorized("The code is of another user than the password.")
        code = factor["passcode"]
    address = address_of(call.request.META)
    return token_issue_by_password(
        username=username, password=user["password"], code=code, scope=scope, address=address
    )


def _by_credential(call: IdentityCall, asked: dict[str, Any], scope: Scope) -> IssuedScopedToken:
    """By the credential's id, or by its name and its owner."""
    if "id" in asked:
        known = parse_uuid(asked["id"])
        key = CredentialKey(id=known) if known else CredentialKey(name=f"id/{asked['id']}")
    elif "name" in asked and "user" in asked:
        key = CredentialKey(name=asked["name"], username=_username(asked["user"]))
    else:
        raise bad_request("Expecting to find id, or name and user, in application_credential.")
    address = address_of(call.request.META)
    return token_issue_by_credential(key=key, secret=asked["secret"], scope=scope, address=address)


def _part(identity: dict[str, Any], method: str) -> dict[str, Any]:
    found: dict[str, Any] | None = identity.get(method)
    if found is None:
        raise bad_request(f"Expecting to find {method} in identity. The server could not comply with the request.")
    return found


def _username(user: dict[str, Any]) -> str:
    """The name that is tried. An id or a domain that does not exist becomes a name that nobody can have, which is
    braked like any other: a slash is in no name.
    """
    if "id" in user:
        known = parse_uuid(user["id"])
        return (user_names([known]).get(known, "") if known else "") or f"id/{user['id']}"
    if "name" not in user:
        raise bad_request("Expecting to find id or name in user.")
    domain, name = domain_of(user, "user"), user["name"]
    return str(name) if domain == DOMAIN else f"{domain}/{name}"


def _scope(asked: Any) -> Scope:
    """Keystone's body: a project by id, or by name with its domain; the system; `unscoped`; or nothing."""
    if asked is None:
        return Scope()
    if asked == "unscoped" or "unscoped" in asked:
        return Scope(is_unscoped=True)
    if "system" in asked:
        return Scope(is_system=True)
    project = asked.get("project")
    if project is None:
        raise unauthorized("Nobody has a role of the scope domain here: ask for a project or for the system.")
    if "id" in project:
        project_id = parse_uuid(project["id"])
        if project_id is None:
            raise unauthorized()
        return Scope(project_id=project_id)
    if "name" not in project:
        raise bad_request("Expecting to find id or name in project.")
    if domain_of(project, "project") != DOMAIN:
        raise unauthorized()
    return Scope(project_name=project["name"])


def token_show(call: IdentityCall) -> JsonAnswer[TokenShown]:
    """Whether a token is good, and for what: one's own, or any for those who may validate tokens."""
    facts = _subject(call, IdentityAccess.TOKENS_VALIDATE)
    response = _token_answer(call, facts, status=200)
    response[SUBJECT] = call.request.headers.get(SUBJECT, "")
    return response


def token_check(call: IdentityCall) -> Empty:
    """The same without a body."""
    _subject(call, IdentityAccess.TOKENS_VALIDATE)
    return call.empty(status=200)


def token_delete(call: IdentityCall) -> Empty:
    """It ends now, at every door."""
    subject = _subject(call, IdentityAccess.USERS_WRITE)
    with refusals_answered():
        token_revoke(token_id=subject.token_id, by_token_id=call.held.token_id)
    return call.empty()


def _subject(call: IdentityCall, access: IdentityAccess) -> TokenFacts:
    text = call.request.headers.get(SUBJECT, "")
    if not text:
        raise bad_request(f"The header {SUBJECT} is missing.")
    facts = token_facts(text)
    if facts is None:  # to anybody, as in Keystone: whoever has the token learns the same by using it
        raise not_found("Could not find token: it is unknown, expired or revoked.")
    require_unless_own(call, access, is_own=facts.user_id == call.held.user_id)
    return facts


def _token_answer(call: IdentityCall, facts: TokenFacts, *, status: int) -> JsonAnswer[TokenShown]:
    document = token_json(facts, base=base_of(call), with_catalog="nocatalog" not in call.query)
    return call.answer({"token": document}, status=status)


def base_of(call: IdentityCall) -> str:
    """Scheme, host and prefix as the client used them."""
    return call.absolute_url("").removesuffix("/").removesuffix("/identity")


def catalog_show(call: IdentityCall) -> JsonAnswer[CatalogShown]:
    """The catalog of the token that asks."""
    held: TokenFacts = call.held
    if held.caller is None:
        raise ApiFault(403, "A token without a scope has no catalog.")
    return call.answer({"catalog": catalog_of(base_of(call)), "links": call.list_links("auth", "catalog")})


def project_choices(call: IdentityCall) -> JsonAnswer[ProjectsShown]:
    """Projects that the holder may ask a token for."""
    user = user_get(user_id=call.held.user_id)
    return call.answer(
        {
            "projects": [project_json(call, one) for one in projects_of_user(user=user)],
            "links": call.list_links("auth", "projects"),
        }
    )


def domain_choices(call: IdentityCall) -> JsonAnswer[DomainsShown]:
    """Nobody has a role in a whole domain."""
    return call.answer({"domains": [], "links": call.list_links("auth", "domains")})


def system_choices(call: IdentityCall) -> JsonAnswer[SystemShown]:
    """All of it, or nothing: whether the holder may ask a token for the system."""
    user = user_get(user_id=call.held.user_id)
    found: list[WholeSystem] = [{"all": True}] if has_role_in_system(user=user) else []
    return call.answer({"system": found, "links": call.list_links("auth", "system")})
