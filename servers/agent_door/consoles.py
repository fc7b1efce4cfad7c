"""`/agent/v1/console`: a host's way outward for one session. Judged here; the web server goes on."""

import logging

from django.http import HttpRequest, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from computeagent.protocol.consoles import CONSOLE_HEADER
from controlplane.identity.addresses import address_of
from controlplane.infra.api.errors import body, kernel_body, status_of
from controlplane.kernel.errors import Invalid, KilonovaError, NotFound, Unavailable
from controlplane.kernel.ids import parse_uuid
from servers.agent_api import database_reached
from servers.agent_door.asker import SecretRefused, asker_of, require_version, secret_refusal_note
from servers.consoles.places import console_places
from servers.consoles.services import console_session_connect

log = logging.getLogger(__name__)


def console(request: HttpRequest) -> HttpResponseBase:
    """A WebSocket whose request names a session by a header. Only the host of its guest may open it, and once."""
    try:
        require_version(request.headers)
        asker = asker_of(request.headers)
        if request.headers.get("Upgrade", "").lower() != "websocket":
            raise Invalid("Consoles are streams over a WebSocket.")
        places, session_id = console_places(), parse_uuid(request.headers.get(CONSOLE_HEADER, ""))
        if places is None:
            raise Unavailable("This web server holds no consoles: `manage.py web` does.")
        if session_id is None:
            raise NotFound("No such console waits for this host.")
        with database_reached():
            session = console_session_connect(host=asker.host, session_id=session_id)
        return StreamingHttpResponse(places.host(session))
    except KilonovaError as error:
        if isinstance(error, SecretRefused):
            secret_refusal_note(error, address_of(request.META))
        return JsonResponse(kernel_body(error), status=status_of(error))
    except Exception:
        log.exception("unexpected failure of an agent's console")
        return JsonResponse(
            body("internal", "Something went wrong here; the request id finds it in the log."), status=500
        )
