"""Rules of identity without Django: roles, callers, quota limits, policy, tokens, login throttling."""

from controlplane.identity.domain.caller import Caller
from controlplane.identity.domain.errors import LoginRefused, LoginsBusy, LoginThrottled
from controlplane.identity.domain.quota import QuotaLimits
from controlplane.identity.domain.role import Role

__all__ = ["Caller", "LoginRefused", "LoginThrottled", "LoginsBusy", "QuotaLimits", "Role"]
