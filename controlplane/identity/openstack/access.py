"""Who calls the Identity API, and what a method of it needs: an action of the policy, or a token of any scope."""

from dataclasses import dataclass
from enum import Enum

from django.http import HttpRequest

from controlplane.audit_log.recording.actor_scope import actor_known
from controlplane.identity.policy import require
from controlplane.identity.selectors.token_facts import TokenFacts, token_facts
from controlplane.identity.services import token_used
from controlplane.openstack.faults import ApiFault

TOKENS = "/v3/auth/tokens"
"""Who asks for a token here has none yet."""


class IdentityAccess(Enum):
    """What a method needs; the values are actions of the policy."""

    PROJECTS_READ = "projects:read"
    PROJECTS_WRITE = "projects:write"
    TOKENS_VALIDATE = "tokens:validate"
    USERS_READ = "users:read"
    USERS_WRITE = "users:write"
    GROUPS_READ = "groups:read"
    GROUPS_WRITE = "groups:write"
    ROLES_READ = "roles:read"
    ROLES_WRITE = "roles:write"


@dataclass(frozen=True, slots=True)
class IdentityCaller:
    """Who calls: nobody yet, where a token is asked for."""

    facts: TokenFacts | None

    @property
    def held(self) -> TokenFacts:
        """The token that was sent. Raises Fault 401."""
        if self.facts is None:
            raise unauthorized()
        return self.facts


def unauthorized(detail: str = "The request you have made requires authentication.") -> ApiFault:
    """401."""
    return ApiFault(401, detail)


def identity_caller(request: HttpRequest) -> IdentityCaller:
    """Who sent this request; a Fault 401 when nobody is known."""
    sent = request.META.get("HTTP_X_AUTH_TOKEN", "")
    facts = token_facts(sent) if sent else None
    if facts is None:
        raise unauthorized()
    token_used(token_id=facts.token_id, last_used_at=facts.last_used_at)
    if facts.caller is not None:
        actor_known(facts.caller)
    return IdentityCaller(facts)


def require_access(caller: IdentityCaller, access: IdentityAccess) -> None:
    """Fault 403 unless the caller may: a token without a scope has no roles."""
    if caller.held.caller is None:
        raise ApiFault(403, f"{access.value} needs a token of a project or of the system; this one has no scope.")
    require(caller.held.caller, access.value)
