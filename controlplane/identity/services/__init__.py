"""Changing identity."""

from controlplane.identity.services.application_credentials import (
    IssuedCredential,
    application_credential_create,
    application_credential_delete,
    application_credentials_remove,
)
from controlplane.identity.services.bootstrap import AdminBootstrap, admin_ensure
from controlplane.identity.services.groups import (
    group_create,
    group_member_add,
    group_member_remove,
    group_role_grant,
    group_role_revoke,
    group_update,
    groups_delete,
)
from controlplane.identity.services.last_superuser import is_last_superuser
from controlplane.identity.services.logins import credentials_check
from controlplane.identity.services.project_removal import project_delete
from controlplane.identity.services.projects import project_create, project_update, role_grant, role_revoke
from controlplane.identity.services.quotas import (
    quota_class_reset,
    quota_class_set,
    user_limits_refused,
    user_quota_reset,
    user_quota_set,
)
from controlplane.identity.services.second_factors import (
    recovery_codes_renew,
    second_factor_begin,
    second_factor_check,
    second_factor_confirm,
    second_factor_give_up,
    second_factor_remove,
)
from controlplane.identity.services.system_roles import system_role_grant, system_role_revoke
from controlplane.identity.services.tokens import (
    USE_NOTED_EACH_S,
    IssuedToken,
    token_issue,
    token_issue_own,
    token_revoke,
    token_use_note,
    token_used,
    tokens_purge_expired,
)
from controlplane.identity.services.users import (
    user_create,
    user_password_change,
    user_password_set,
    user_update,
    users_delete,
)

__all__ = [
    "USE_NOTED_EACH_S",
    "AdminBootstrap",
    "IssuedCredential",
    "IssuedToken",
    "admin_ensure",
    "application_credential_create",
    "application_credential_delete",
    "application_credentials_remove",
    "credentials_check",
    "group_create",
    "group_member_add",
    "group_member_remove",
    "group_role_grant",
    "group_role_revoke",
    "group_update",
    "groups_delete",
    "is_last_superuser",
    "project_create",
    "project_delete",
    "project_update",
    "quota_class_reset",
    "quota_class_set",
    "recovery_codes_renew",
    "role_grant",
    "role_revoke",
    "second_factor_begin",
    "second_factor_check",
    "second_factor_confirm",
    "second_factor_give_up",
    "second_factor_remove",
    "system_role_grant",
    "system_role_revoke",
    "token_issue",
    "token_issue_own",
    "token_revoke",
    "token_use_note",
    "token_used",
    "tokens_purge_expired",
    "user_create",
    "user_limits_refused",
    "user_password_change",
    "user_password_set",
    "user_quota_reset",
    "user_quota_set",
    "user_update",
    "users_delete",
]
