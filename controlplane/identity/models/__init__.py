"""Rows of identity. Private to this app: others use its services, selectors and domain."""

from controlplane.identity.models.application_credential import ApplicationCredential
from controlplane.identity.models.external_identity import ExternalIdentity
from controlplane.identity.models.login_failure import KnownAddress, LoginFailure
from controlplane.identity.models.project import Project
from controlplane.identity.models.quota import QuotaClass, UserQuota
from controlplane.identity.models.role_assignment import RoleAssignment
from controlplane.identity.models.saved_view import SavedView
from controlplane.identity.models.second_factor import RecoveryCode, SecondFactor
from controlplane.identity.models.system_role import SystemRole
from controlplane.identity.models.token import Token
from controlplane.identity.models.user import User
from controlplane.identity.models.user_group import GroupMember, GroupRole, UserGroup

__all__ = [
    "ApplicationCredential",
    "ExternalIdentity",
    "GroupMember",
    "GroupRole",
    "KnownAddress",
    "LoginFailure",
    "Project",
    "QuotaClass",
    "RecoveryCode",
    "RoleAssignment",
    "SavedView",
    "SecondFactor",
    "SystemRole",
    "Token",
    "User",
    "UserGroup",
    "UserQuota",
]
