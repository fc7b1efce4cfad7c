"""Rules of identity without Django: roles, callers, quota limits, policy, tokens, login throttling."""

from controlplane.identity.domain.caller import Caller
from controlplane.identity.domain.errors import (
    DirectoryUnavailable,
    LoginRefused,
    LoginsBusy,
    LoginThrottled,
    OutsiderRefused,
    ProjectNeeded,
    SecondFactorNeeded,
)
from controlplane.identity.domain.quota import QuotaLimits
from controlplane.identity.domain.role import Role

__all__ = [
    "Caller",
    "DirectoryUnavailable",
    "LoginRefused",
    "LoginThrottled",
    "LoginsBusy",
    "OutsiderRefused",
    "ProjectNeeded",
    "QuotaLimits",
    "Role",
    "SecondFactorNeeded",
]
