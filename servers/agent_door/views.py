"""`/agent/v1/VERB`: who asks, whether it may, and the verb of the conductor.

A secret names one host. The host in a request's arguments has to be that one, a lease has to bear this door's seal for
it, and every statement that takes effect says that the host is still this agent's (`Ownership`). Whatever is refused
here is logged as a warning.
"""

import logging
from dataclasses import replace
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt

from computeagent.protocol.consoles import CONSOLE_PATH
from computeagent.protocol.hosts import Registration
from computeagent.protocol.volume_work import VolumeOrder
from computeagent.protocol.wire import (
    AGENT_HEADER,
    CARRYING,
    ENROL,
    PREFIX,
    PROTOCOL_VERSION,
    ROTATE,
    STREAMED,
    VERSION_HEADER,
    Verb,
    encode,
    verbs,
)
from computeagent.protocol.work import WorkOrder
from controlplane.identity.addresses import address_of
from controlplane.infra.api.errors import body, kernel_body, status_of
from controlplane.kernel.errors import Invalid, KilonovaError, NotFound, Throttled, TooLarge
from servers.agent_api import database_reached
from servers.agent_api.connection import DatabaseConductor
from servers.agent_api.credentials import agent_version_accepted, credential_rotate, enrolment_redeem
from servers.agent_api.host_ownership import host_ownership
from servers.agent_door.asker import (
    Asker,
    SecretRefused,
    asker_of,
    require_host,
    require_version,
    secret_refusal_note,
)
from servers.agent_door.connected import connected_agents, own_heartbeat_s
from servers.agent_door.consoles import console
from servers.agent_door.seals import order_sealed, seal_opened
from servers.agent_door.wakeups import wakeups_of_host
from servers.images.downloads import agent_downloads
from servers.images.services.uploads_in_pieces import upload_piece_bytes

log = logging.getLogger(__name__)

MAX_BODY_BYTES = 16 * 2**20
"""The largest message: the consoles of all guests of one host, 64 KiB each."""
MAX_ENROLMENT_BYTES = 4096
"""Of a stranger: a name, a token and a digest."""
PIECE_HEAD_BYTES = 64 * 2**10
"""For what comes with the bytes of a piece."""


@csrf_exempt
def serve(request: HttpRequest, verb: str = "") -> HttpResponseBase:
    """Every request below `/agent/v1`; `verb` is what the path ends with, for the resolver alone."""
    del verb
    if request.path_info == CONSOLE_PATH:
        return console(request)
    try:
        if request.method != "POST":
            raise Invalid("Agents ask by POST.")
        require_version(request.headers)
        answer = _answer(request, request.path_info.removeprefix(PREFIX))
    except KilonovaError as error:
        answer = _json(kernel_body(error), status_of(error))
        if isinstance(error, SecretRefused):
            secret_refusal_note(error, address_of(request.META))
        if isinstance(error, Throttled):
            answer["Retry-After"] = str(error.extra.get("wait_s", 1))
    except Exception:
        log.exception("unexpected failure of an agent's request")
        answer = _json(body("internal", "Something went wrong here; the request id finds it in the log."), 500)
    answer[VERSION_HEADER] = str(PROTOCOL_VERSION)
    return answer


def body_limit(name: str) -> int:
    """How large a message of this verb may be, in bytes."""
    if name == ENROL.name:
        return MAX_ENROLMENT_BYTES
    return upload_piece_bytes() + PIECE_HEAD_BYTES if name in CARRYING else MAX_BODY_BYTES


def _answer(request: HttpRequest, name: str) -> HttpResponseBase:
    """Who asks is known before anything that they say is read."""
    if name == ENROL.name:
        return _enrol(request)
    asker = asker_of(request.headers)
    message = _message(request, name)
    if name == ROTATE.name:
        secret_digest = ROTATE.arguments_of(message)["secret_digest"]
        with database_reached():
            credential_rotate(host=asker.host, old_digest=asker.secret_digest, secret_digest=secret_digest)
        return _json(None)
    verb = verbs().get(name)
    if verb is None:
        raise NotFound(f"There is no verb {name[:40]!r} here.")
    return _verb_answer(verb, verb.arguments_of(message), asker)


def _enrol(request: HttpRequest) -> HttpResponse:
    wanted = ENROL.arguments_of(_message(request, ENROL.name))
    with database_reached():
        enrolment_redeem(**wanted, address=address_of(request.META))
    return _json(None)


def _message(request: HttpRequest, name: str) -> bytes:
    allowed = body_limit(name)
    message = request.read(allowed + 1)
    if len(message) > allowed:
        raise TooLarge(f"The body is larger than {allowed} bytes.")
    return message


def _verb_answer(verb: Verb, arguments: dict[str, Any], asker: Asker) -> HttpResponseBase:
    require_host(asker, arguments.get("host", asker.host), verb.name)
    if verb.is_leased:
        arguments["lease"] = seal_opened(arguments["lease"], asker.host, verb.name)
    if not asker.agent_id and verb.name != "host_own":
        raise Invalid(f"The header {AGENT_HEADER} must say which agent this is: the uuid of its state directory.")
    if verb.name == "wakeups":
        return _json(wakeups_of_host(asker, timeout_s=arguments["timeout_s"]))
    ownership = host_ownership(host=asker.host, agent_id=asker.agent_id)
    if verb.name == "heartbeat":  # written down with the others', where the database has heard of it lately
        connected_agents().asks((asker.host, asker.agent_id))
    conductor = DatabaseConductor(ownership)
    if verb.name in STREAMED:
        return agent_downloads().response(asker.host, lambda: getattr(conductor, verb.name)(**arguments))
    answer = getattr(conductor, verb.name)(**arguments)
    if verb.name == "void_leases":  # an agent begins: one that was too old is so no more
        agent_version_accepted(host=asker.host)
    if isinstance(answer, WorkOrder | VolumeOrder):
        answer = order_sealed(answer, asker.host)
    if isinstance(answer, Registration):
        # Its polls say that it is alive; what is left is to hear whether it still has its host.
        answer = replace(answer, report_interval_s=own_heartbeat_s(), is_sparing=True)
    return _json(answer)


def _json(answer: object, status: int = 200) -> HttpResponse:
    text = encode(answer)
    headers = {"Content-Length": str(len(text))}
    return HttpResponse(text, content_type="application/json", status=status, headers=headers)
