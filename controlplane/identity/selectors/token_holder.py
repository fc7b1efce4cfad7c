"""Who holds a token, in one lean query: for APIs where a request costs a millisecond in all.

Written in SQL because the ORM takes longer to write this join than the database to answer it. PostgreSQL and SQLite
read the same text.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from django.db import connection

from controlplane.identity.domain import Caller, Role
from controlplane.identity.domain.token import token_digest
from controlplane.infra.db import now_sql

_HOLDER = """
SELECT token.id, token.last_used_at, holder.id, holder.username, holder.is_superuser, project.id, project.name,
       assignment.role
  FROM identity_token AS token
  JOIN identity_user AS holder ON holder.id = token.user_id
  JOIN identity_project AS project ON project.id = token.project_id
  LEFT JOIN identity_roleassignment AS assignment
         ON assignment.user_id = token.user_id AND assignment.project_id = token.project_id
 WHERE token.digest = %s AND token.expires_at > {now} AND NOT token.revoked AND holder.is_active AND project.enabled
"""


@dataclass(frozen=True, slots=True)
class TokenHolder:
    """The caller, and the token as the note of its use needs it."""

    caller: Caller
    token_id: UUID
    last_used_at: datetime | None


def token_holder(token: str) -> TokenHolder | None:
    """None when the token is unknown, expired or revoked, its owner switched off, or without a role there."""
    with connection.cursor() as cursor:
        cursor.execute(_HOLDER.format(now=now_sql()), [token_digest(token)])
        rows = cursor.fetchall()
    if not rows:
        return None
    token_id, used, user_id, username, is_superuser, project_id, project_name, _ = rows[0]
    held = frozenset(Role(row[-1]) for row in rows if row[-1] is not None)
    roles = frozenset({Role.ADMIN}) if is_superuser else held
    caller = Caller(_uuid(user_id), username, _uuid(project_id), project_name, roles)
    return TokenHolder(caller, _uuid(token_id), _moment(used)) if roles else None


def _uuid(value: UUID | str) -> UUID:
    return value if isinstance(value, UUID) else UUID(value)


def _moment(value: datetime | None) -> datetime | None:
    """SQLite keeps no time zone: what is read there is UTC."""
    return value.replace(tzinfo=UTC) if value is not None and value.tzinfo is None else value
