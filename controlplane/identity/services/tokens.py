"""API tokens: issued once for name and password, stored as digests, revoked or left to expire."""

import uuid
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings

from controlplane.identity.domain import Caller
from controlplane.identity.domain.token import new_token, token_digest
from controlplane.identity.models import Token
from controlplane.identity.selectors import caller_for_user, projects_of_user
from controlplane.identity.services.logins import credentials_check
from controlplane.infra.db import now_plus
from controlplane.kernel.errors import Invalid


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """The token itself: shown once, kept nowhere."""

    token: str
    expires_at: datetime
    caller: Caller


def token_issue(
    *, username: str, password: str, project: str | None = None, address: str = "", lifetime_s: float | None = None
) -> IssuedToken:
    """A token for one project: the named one (name or id), else the first by name where the user has a role.

    Raises LoginRefused for wrong credentials, Invalid for a project without a role, Forbidden for none at all.
    """
    user = credentials_check(username=username, password=password, address=address)
    wanted = None
    if project:
        wanted = next((one for one in projects_of_user(user=user) if project in {one.name, str(one.pk)}), None)
        if wanted is None:
            raise Invalid("You have no role in a project of this name.", field="project")
    caller = caller_for_user(user=user, project_id=wanted.pk if wanted else None)
    text = new_token()
    lifetime = settings.KILONOVA["TOKEN_LIFETIME_S"] if lifetime_s is None else lifetime_s
    row = Token.objects.create(
        digest=token_digest(text), user=user, project_id=caller.project_id, expires_at=now_plus(lifetime)
    )
    row.refresh_from_db(fields=["expires_at"])
    return IssuedToken(text, row.expires_at, caller)


def token_revoke(*, token_id: uuid.UUID) -> bool:
    """End a token now; True when it was alive."""
    return bool(Token.objects.filter(pk=token_id, revoked=False).update(revoked=True))


def tokens_purge_expired() -> int:
    """Remove what expired or was revoked a day ago or longer."""
    return Token.objects.filter(expires_at__lt=now_plus(-86400)).delete()[0]
