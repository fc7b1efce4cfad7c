"""Rows of identity. Private to this app: others use its services, selectors and domain."""

from controlplane.identity.models.login_failure import KnownAddress, LoginFailure
from controlplane.identity.models.project import Project
from controlplane.identity.models.role_assignment import RoleAssignment
from controlplane.identity.models.token import Token
from controlplane.identity.models.user import User

__all__ = ["KnownAddress", "LoginFailure", "Project", "RoleAssignment", "Token", "User"]
