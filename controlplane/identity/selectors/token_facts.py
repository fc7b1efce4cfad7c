"""What a token says, as the identity door tells it: also of one that has no scope. One query."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from controlplane.identity.domain import Caller
from controlplane.identity.domain.token import token_digest
from controlplane.identity.selectors.held_roles import ROLES_SQL
from controlplane.identity.selectors.token_roles import roles_of_token
from controlplane.infra.db import now_sql, uuid_of
from controlplane.infra.prepared import PreparedStatement

_TEXT = """
SELECT DISTINCT token.id, token.methods, token.created_at, token.expires_at, token.last_used_at,
       holder.id, holder.username, holder.is_superuser, project.id, project.name, token.is_system,
       credential.id, credential.name, credential.roles, credential.unrestricted, {role_columns}
  FROM identity_token AS token
  JOIN identity_user AS holder ON holder.id = token.user_id
  LEFT JOIN identity_project AS project ON project.id = token.project_id
  LEFT JOIN identity_applicationcredential AS credential ON credential.id = token.application_credential_id
{role_joins}
 WHERE token.digest = %s AND token.expires_at > {now} AND NOT token.revoked AND holder.is_active
   AND (token.project_id IS NULL OR project.enabled)
"""
_FACTS = PreparedStatement("token_facts", lambda: _TEXT.format(now=now_sql(), **ROLES_SQL), types=["text"])


@dataclass(frozen=True, slots=True)
class UsedCredential:
    """The application credential that a token was got by."""

    id: UUID
    name: str
    is_restricted: bool


@dataclass(frozen=True, slots=True)
class TokenFacts:
    """A token that is good now. Without a scope it has no `caller`, and its holder no roles."""

    token_id: UUID
    methods: tuple[str, ...]
    issued_at: datetime
    expires_at: datetime
    last_used_at: datetime | None
    user_id: UUID
    username: str
    caller: Caller | None
    credential: UsedCredential | None = None


def token_facts(token: str) -> TokenFacts | None:
    """None when the token is unknown, expired or revoked, its owner switched off, or without a role in its scope."""
    rows = _FACTS.rows([token_digest(token)])
    if not rows:
        return None
    token_id, methods, issued, expires, used, user_id, username, is_superuser, project_id, project_name = rows[0][:10]
    is_system, credential = rows[0][10], _credential(rows[0][11:15])
    caller = None
    if project_id is not None or is_system:
        held = ((row[15], row[16]) for row in rows)
        roles = roles_of_token(held, is_superuser=is_superuser, named=rows[0][13])
        if not roles:
            return None
        caller = Caller(
            uuid_of(user_id),
            username,
            uuid_of(project_id) if project_id is not None else None,
            project_name or "",
            roles,
            is_by_credential=credential is not None,
            is_restricted=credential is not None and credential.is_restricted,
        )
    return TokenFacts(
        token_id=uuid_of(token_id),
        methods=tuple(methods.split(",")),
        issued_at=_moment(issued),
        expires_at=_moment(expires),
        last_used_at=_moment(used) if used else None,
        user_id=uuid_of(user_id),
        username=username,
        caller=caller,
        credential=credential,
    )


def _credential(found: Sequence[Any]) -> UsedCredential | None:
    credential_id, name, _, unrestricted = found
    return None if credential_id is None else UsedCredential(uuid_of(credential_id), name, not unrestricted)


def _moment(value: Any) -> datetime:
    """SQLite keeps no time zone, and gives text to a statement that Django did not write: what is there is UTC."""
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    found: datetime = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    return found
