"""`/agent/v1/VERB`: who asks, whether it may, and the verb of the conductor.

A secret names one host. The host in a request's arguments has to be that one, a lease has to bear this door's seal for
it, and every statement that takes effect says that the host is still this agent's (`Ownership`). Whatever is refused
here is logged as a warning.
"""

import logging
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt

from computeagent.protocol.wire import (
    AGENT_HEADER,
    ENROL,
    PREFIX,
    PROTOCOL_VERSION,
    ROTATE,
    STREAMED,
    VERSION_HEADER,
    Verb,
    encode,
    incompatible_words,
    is_compatible,
    verbs,
)
from computeagent.protocol.work import WorkOrder
from controlplane.identity.domain.token import token_digest
from controlplane.infra.api.errors import kernel_body, status_of
from controlplane.kernel.errors import Conflict, Forbidden, Invalid, KilonovaError, NotFound, TooLarge
from controlplane.kernel.ids import parse_uuid
from servers.agent_api import OwnConnections, database_reached
from servers.agent_api.connection import DatabaseConductor
from servers.agent_api.credentials import credential_host, credential_rotate, enrolment_redeem
from servers.agent_api.host_ownership import host_ownership
from servers.agent_door.seals import order_sealed, seal_require
from servers.agent_door.wakeups import wakeups_wait

log = logging.getLogger(__name__)

MAX_BODY_BYTES = 16 * 2**20
"""The largest message: the consoles of all guests of one host, 64 KiB each."""
BEARER = "Bearer "


class SecretRefused(Forbidden):
    """The secret is nobody's, or was revoked: the agent has to be enrolled again."""

    code = "secret_refused"


class Incompatible(Conflict):
    """Agent and control plane are more than one release apart."""

    code = "incompatible"
    retryable = False


@dataclass(frozen=True, slots=True)
class Asker:
    """The agent that asks: the host that its secret names, and the id of its state directory, "" if it told none."""

    host: str
    agent_id: str
    secret_digest: str


@csrf_exempt
def serve(request: HttpRequest, verb: str = "") -> HttpResponseBase:
    """Every request below `/agent/v1`; `verb` is what the path ends with, for the resolver alone."""
    del verb
    try:
        if request.method != "POST":
            raise Invalid("Agents ask by POST.")
        if not is_compatible(request.headers.get(VERSION_HEADER)):
            raise Incompatible(incompatible_words(request.headers.get(VERSION_HEADER)))
        with database_reached(OwnConnections()):
            answer = _answer(request, request.path_info.removeprefix(PREFIX))
    except KilonovaError as error:
        answer = HttpResponse(encode(kernel_body(error)), content_type="application/json", status=status_of(error))
    answer[VERSION_HEADER] = str(PROTOCOL_VERSION)
    return answer


def _answer(request: HttpRequest, name: str) -> HttpResponseBase:
    body = request.read(MAX_BODY_BYTES + 1)
    if len(body) > MAX_BODY_BYTES:
        raise TooLarge(f"The body is larger than {MAX_BODY_BYTES} bytes.")
    if name == "enrol":
        wanted = ENROL.arguments_of(body)
        enrolment_redeem(host=wanted["host"], token=wanted["token"], secret_digest=wanted["secret_digest"])
        return _json(None)
    asker = asker_of(request)
    if name == "rotate":
        secret_digest = ROTATE.arguments_of(body)["secret_digest"]
        credential_rotate(host=asker.host, old_digest=asker.secret_digest, secret_digest=secret_digest)
        return _json(None)
    verb = verbs().get(name)
    if verb is None:
        raise NotFound(f"There is no verb {name[:40]!r} here.")
    return _verb_answer(verb, verb.arguments_of(body), asker)


def asker_of(request: HttpRequest) -> Asker:
    """Raises SecretRefused."""
    header = request.headers.get("Authorization", "")
    secret = header.removeprefix(BEARER)
    host = credential_host(secret) if header.startswith(BEARER) else None
    if host is None:
        log.warning("a secret was refused that is no agent's, or was revoked")
        raise SecretRefused("This secret is no agent's, or it was revoked. Enrol the host again.")
    return Asker(host, str(parse_uuid(request.headers.get(AGENT_HEADER, "")) or ""), token_digest(secret))


def _verb_answer(verb: Verb, arguments: dict[str, Any], asker: Asker) -> HttpResponseBase:
    try:
        if arguments.get("host", asker.host) != asker.host:
            raise Forbidden(f"The secret of host {asker.host} says nothing about host {arguments['host'][:100]}.")
        if verb.is_leased:
            seal_require(arguments["lease"], asker.host)
    except KilonovaError as error:
        log.warning("the agent of host %s was refused %s: %s", asker.host, verb.name, error.message)
        raise
    if not asker.agent_id and verb.name != "host_own":
        raise Invalid(f"The header {AGENT_HEADER} must say which agent this is: the uuid of its state directory.")
    if verb.name == "wakeups":
        return _json(wakeups_wait(**arguments))
    ownership = host_ownership(host=asker.host, agent_id=asker.agent_id)
    conductor = DatabaseConductor(OwnConnections(), ownership)
    answer = getattr(conductor, verb.name)(**arguments)
    if verb.name in STREAMED:
        # With a length, the agent knows a cut from the end whatever is between.
        headers = {"Content-Length": str(answer.size_bytes)}
        return StreamingHttpResponse(answer, content_type="application/octet-stream", headers=headers)
    return _json(order_sealed(answer, asker.host) if isinstance(answer, WorkOrder) else answer)


def _json(answer: object) -> HttpResponse:
    return HttpResponse(encode(answer), content_type="application/json")
