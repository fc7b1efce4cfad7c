"""Changing identity."""

from controlplane.identity.services.bootstrap import AdminBootstrap, admin_ensure
from controlplane.identity.services.logins import credentials_check
from controlplane.identity.services.projects import project_create, project_update, role_grant, role_revoke
from controlplane.identity.services.tokens import (
    USE_NOTED_EACH_S,
    IssuedToken,
    token_issue,
    token_revoke,
    token_use_note,
    token_used,
    tokens_purge_expired,
)
from controlplane.identity.services.users import (
    is_last_superuser,
    user_create,
    user_password_set,
    user_update,
    users_delete,
)

__all__ = [
    "USE_NOTED_EACH_S",
    "AdminBootstrap",
    "IssuedToken",
    "admin_ensure",
    "credentials_check",
    "is_last_superuser",
    "project_create",
    "project_update",
    "role_grant",
    "role_revoke",
    "token_issue",
    "token_revoke",
    "token_use_note",
    "token_used",
    "tokens_purge_expired",
    "user_create",
    "user_password_set",
    "user_update",
    "users_delete",
]
