"""The policy, at the address that other apps import it from."""

from controlplane.identity.domain.policy import POLICY, UnknownActionError, allows, min_role, require

__all__ = ["POLICY", "UnknownActionError", "allows", "min_role", "require"]
