"""Who calls one of these doors: the holder of a token of a project."""

from enum import Enum

from django.http import HttpRequest

from controlplane.audit_log.recording.actor_scope import actor_known
from controlplane.identity.domain import Caller
from controlplane.identity.policy import require
from controlplane.identity.selectors.token_holder import token_holder
from controlplane.identity.services import token_used
from controlplane.openstack.faults import ApiFault


def token_caller(request: HttpRequest) -> Caller:
    """Who sent this request. Raises Fault 401."""
    sent = request.META.get("HTTP_X_AUTH_TOKEN", "")
    found = token_holder(sent) if sent else None
    if found is None:
        raise ApiFault(401, "The request you have made requires authentication.")
    token_used(token_id=found.token_id, last_used_at=found.last_used_at)
    actor_known(found.caller)
    return found.caller


def require_action(caller: Caller, access: Enum) -> None:
    """Raises Forbidden unless the policy lets the caller do it; the value of `access` is an action of the policy."""
    require(caller, access.value)
