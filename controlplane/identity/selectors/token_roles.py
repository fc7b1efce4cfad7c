"""Which roles a token has, by the rows that were read of it: one place for each query that reads tokens."""

from collections.abc import Iterable

from controlplane.identity.domain import Role
from controlplane.identity.domain.application_credential import roles_in_force, roles_of_text


def roles_of_token(
    held: Iterable[tuple[str | None, str | None]], *, is_superuser: bool, named: str | None
) -> frozenset[Role]:
    """The roles, empty where the token is good for nothing.

    `held`: those that the owner has in the scope, in pairs as `ROLES_SQL` reads them; `named`: those of the application
    credential that the token was got by, None without one.
    """
    if is_superuser:
        roles = frozenset({Role.ADMIN})
    else:
        roles = frozenset(Role(role) for pair in held for role in pair if role is not None)
    return roles if named is None else roles_in_force(held=roles, named=roles_of_text(named))
