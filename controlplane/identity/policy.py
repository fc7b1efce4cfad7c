"""The policy, at the address that other apps import it from."""

from controlplane.identity.domain.access_rules import DEFAULT_RULES, AccessRule
from controlplane.identity.domain.policy import (
    UnknownActionError,
    allows,
    min_role,
    require,
    rule_of,
    rules_in_force,
)

__all__ = [
    "DEFAULT_RULES",
    "AccessRule",
    "UnknownActionError",
    "allows",
    "min_role",
    "require",
    "rule_of",
    "rules_in_force",
]
