"""Who acts in a request that may change something: entries of the audit log name him, his door and his address."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from controlplane.audit_log.recording.actor_scope import (
    ADMIN,
    API,
    OPENSTACK,
    PAGE,
    Actor,
    ActorScope,
    actor_scope,
)
from controlplane.audit_log.recording.record import AuditTarget, refusal_note, refusals_write
from controlplane.identity.addresses import address_of
from controlplane.kernel.ids import parse_uuid

SAFE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
AGENTS = "agent"
DOOR_OF = {
    "api": API,
    "admin": ADMIN,
    **dict.fromkeys(("placement", "identity", "compute", "image", "network", "volume"), OPENSTACK),
}
"""By the first part of the path; every other path is a page."""


def _first_part(request: HttpRequest) -> str:
    return request.path_info[1:].partition("/")[0]


def is_for_people(request: HttpRequest) -> bool:
    """Whether it is for a page or the Django admin, and not for a door that programs come by."""
    return DOOR_OF.get(_first_part(request), PAGE) in {PAGE, ADMIN}


class ActorMiddleware:
    """Begins a scope around each request but those that only read, and those of agents, who are no persons.

    The OpenStack doors and the tokens of the API name their caller themselves; of a session it is found here, when the
    first entry is written.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        first = _first_part(request)
        if request.method in SAFE or first == AGENTS:
            return self.get_response(request)
        door = DOOR_OF.get(first, PAGE)
        scope = ActorScope(door, address_of(request.META), find_actor=lambda: _session_actor(request))
        with actor_scope(scope):
            response = self.get_response(request)
            if response.status_code == 403 and not scope.refusals:
                # A role was missing before any service was asked.
                target = AuditTarget("request", request.path_info[:255])
                refusal_note(f"request.{(request.method or '').lower()}", target, "The role for this is missing.")
            refusals_write()
            return response


def _session_actor(request: HttpRequest) -> Actor | None:
    """The user of the session; nobody for a request that has none."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return None
    session = getattr(request, "session", None)
    chosen = parse_uuid(str(session.get("project_id", ""))) if session is not None else None
    return Actor(user.get_username(), user.pk, chosen)
