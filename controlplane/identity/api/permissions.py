"""Deny by default: a view says which action each of its methods is, or nobody may call it."""

from typing import Any

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from controlplane.identity.domain import Caller
from controlplane.identity.policy import require


class RoleRequired(BasePermission):
    """Reads the view's `policy`: {DRF action or lower-case method: policy action}."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """False without a caller (401) or without an entry; raises Forbidden naming the role that is missing."""
        if not isinstance(request.auth, Caller):
            return False
        table: dict[str, str] = getattr(view, "policy", {})
        method = (request.method or "").lower()
        key = getattr(view, "action", None) or ("get" if method == "head" else method)
        if key in {"options", "metadata", None}:
            return True
        action = table.get(key)
        if action is None:
            # A method that the view does not have is answered with 405 further on.
            return not hasattr(view, method)
        require(request.auth, action)
        return True
