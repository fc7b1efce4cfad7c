"""A token as the Identity API shows it."""

from base64 import urlsafe_b64encode
from datetime import UTC, datetime

from controlplane.identity.domain import Caller
from controlplane.identity.openstack.call import DOMAIN, DOMAIN_NAME
from controlplane.identity.openstack.catalog import catalog_of
from controlplane.identity.openstack.shapes import DomainName, TokenJson, TokenProject, TokenScope
from controlplane.identity.selectors.token_facts import TokenFacts

DOMAIN_JSON: DomainName = {"id": DOMAIN, "name": DOMAIN_NAME}


def moment_json(moment: datetime) -> str:
    """The one form of time with microseconds that all clients read."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def token_json(facts: TokenFacts, *, base: str, with_catalog: bool) -> TokenJson:
    """What `token` has: of a token without a scope neither roles nor a catalog."""
    document: TokenJson = {
        "methods": list(facts.methods),
        "user": {
            "id": facts.user_id.hex,
            "name": facts.username,
            "domain": DOMAIN_JSON,
            "password_expires_at": None,
        },
        "audit_ids": [urlsafe_b64encode(facts.token_id.bytes).decode().rstrip("=")],
        "issued_at": moment_json(facts.issued_at),
        "expires_at": moment_json(facts.expires_at),
    }
    if facts.credential is not None:
        document["application_credential"] = {
            "id": facts.credential.id.hex,
            "name": facts.credential.name,
            "restricted": facts.credential.is_restricted,
        }
    if facts.caller is not None:
        document = {**document, **_scope_json(facts.caller)}
        document["roles"] = [{"id": name, "name": name} for name in facts.caller.role_names]
        if with_catalog:
            document["catalog"] = catalog_of(base)
    return document


def _scope_json(caller: Caller) -> TokenScope:
    if caller.own_project_id is None:
        return {"system": {"all": True}}
    project: TokenProject = {"id": caller.own_project_id.hex, "name": caller.project_name, "domain": DOMAIN_JSON}
    return {"project": project, "is_domain": False}
