"""Pages of consoles that people type into, the address of a session's token, and the list of sessions."""

import uuid
from collections.abc import Callable
from typing import TypeVar, cast
from urllib.parse import urlsplit

from csp.constants import SELF, UNSAFE_INLINE
from csp.decorators import csp_update
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST, require_safe

from computeagent.protocol.consoles import ConsoleKind
from controlplane.dashboard.instances.console_listing import CONSOLES
from controlplane.dashboard.lists.pages import list_response
from controlplane.dashboard.pages import page, refusal_page, show
from controlplane.identity.addresses import address_of
from controlplane.identity.domain import Caller
from controlplane.identity.policy import allows
from controlplane.infra.api.errors import headers_of, kernel_body, status_of
from controlplane.infra.reader_texts import refusal_text
from controlplane.kernel.errors import Forbidden, Invalid, KilonovaError, NotFound, Unavailable
from controlplane.kernel.texts import gettext_noop
from servers.conf import server_options
from servers.consoles.places import console_places
from servers.consoles.selectors import READ_POLICY
from servers.consoles.services import (
    WRITE_POLICY,
    console_refusal,
    console_session_create,
    console_session_end,
    console_session_open,
)
from servers.instances.selectors.instances import instance_get

TOKEN_PREFIX = "kilonova.token."  # noqa: S105 - what a token is named by
TITLES = {ConsoleKind.VNC: gettext_noop("Screen"), ConsoleKind.SERIAL: gettext_noop("Serial console")}
TABS = (
    {"name": "vnc", "path": "vnc/", "title": gettext_noop("Screen")},
    {"name": "serial", "path": "serial/", "title": gettext_noop("Serial console")},
    {"name": "log", "path": "", "title": gettext_noop("Log")},
)


V = TypeVar("V", bound=Callable[..., HttpResponseBase])
# xterm.js writes a style element; nothing else of the page's policy changes.
with_style_elements = cast("Callable[[V], V]", csp_update({"style-src": [SELF, UNSAFE_INLINE]}))


@with_style_elements
@require_safe
@page(READ_POLICY)
def instance_console_live(request: HttpRequest, caller: Caller, instance_id: uuid.UUID, kind: str) -> HttpResponse:
    """The guest's screen or serial port, to type into; `?view=1` only looks, `?window=1` is nothing but the console."""
    instance, found = instance_get(caller=caller, instance_id=instance_id), ConsoleKind(kind)
    may_write = allows(caller, WRITE_POLICY)
    is_read_only = found is ConsoleKind.VNC and (bool(request.GET.get("view")) or not may_write)
    refusal = console_refusal(instance)
    if not refusal and not may_write and not is_read_only:
        refusal = gettext("Readers of a project may look at the screen and at the log; typing needs the role member.")
    return show(
        request,
        caller,
        "dashboard/consoles/console.html",
        "instances",
        **_frame(found, is_window=bool(request.GET.get("window"))),
        instance=instance,
        tab=kind,
        is_read_only=is_read_only,
        may_write=may_write,
        refusal=refusal,
        sessions_path=f"/instances/{instance.pk}/console/sessions/",
    )


def _frame(kind: ConsoleKind, *, is_window: bool) -> dict[str, object]:
    return {
        "frame": "dashboard/consoles/window.html" if is_window else "base.html",
        "is_window": is_window,
        "kind": kind.value,
        "title": TITLES[kind],
        "tabs": TABS,
        "script": f"kilonova/console-{kind.value}.js",
    }


@require_POST
@page(READ_POLICY)
def instance_console_session(request: HttpRequest, caller: Caller, instance_id: uuid.UUID) -> HttpResponse:
    """A session and its token, for the page's script."""
    try:
        kind = request.POST.get("kind", "")
        if kind not in set(ConsoleKind):
            raise Invalid("There are consoles of the kinds vnc and serial.", field="kind")
        access = console_session_create(
            caller=caller, instance_id=instance_id, kind=ConsoleKind(kind), is_read_only=bool(request.POST.get("view"))
        )
    except KilonovaError as error:
        body = kernel_body(error)
        body["error"]["message"] = refusal_text(error)  # the page shows it
        return JsonResponse(body, status=status_of(error), headers=headers_of(error))
    answer = JsonResponse({"id": str(access.session.pk), "token": access.token, "expires_at": access.expires_at})
    add_never_cache_headers(answer)
    return answer


@with_style_elements
@require_safe
def console_open(request: HttpRequest, kind: str) -> HttpResponse:
    """Where the address of a session leads that a program asked for. Its token stands behind the #, so it is sent to
    nobody; whoever has it needs no log-in.
    """
    found = ConsoleKind(kind)
    is_read_only = found is ConsoleKind.VNC and bool(request.GET.get("view"))
    context = _frame(found, is_window=True) | {"instance": None, "is_read_only": is_read_only}
    answer = render(request, "dashboard/consoles/console.html", context)
    add_never_cache_headers(answer)
    return answer


@require_GET
def console_stream(request: HttpRequest) -> HttpResponseBase:
    """The WebSocket of a session, for whoever has its token. Answers nothing where it goes on: the server does."""
    try:
        _require_own_page(request)
        if request.headers.get("Upgrade", "").lower() != "websocket":
            raise Invalid("Consoles are streams over a WebSocket.")
        places = console_places()
        if places is None:
            raise Unavailable("This web server holds no consoles: `manage.py web` does.")
        places.room_require()
        client_address = address_of(request.META) or None
        session = console_session_open(token=_token(request), holder=places.holder, client_address=client_address)
        return StreamingHttpResponse(places.browser(session))
    except KilonovaError as error:
        return HttpResponse(error.message, content_type="text/plain", status=status_of(error))


def _require_own_page(request: HttpRequest) -> None:
    """A page of another site that got hold of a token opens nothing. Programs send no Origin. Raises Forbidden."""
    origin = request.headers.get("Origin", "")
    if origin and urlsplit(origin).netloc != request.get_host():
        raise Forbidden("Another site's page asked.")


def _token(request: HttpRequest) -> str:
    named = (one.strip() for one in request.headers.get("Sec-WebSocket-Protocol", "").split(","))
    return next((one.removeprefix(TOKEN_PREFIX) for one in named if one.startswith(TOKEN_PREFIX)), "")


@require_safe
@page(READ_POLICY)
def console_sessions(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """The newest sessions first: of the project; for administrators of all."""
    days = f"{server_options().console_session_retention_days:g}"
    return list_response(request, caller, CONSOLES, retention_days=days)


@require_POST
@page(READ_POLICY)
def console_session_over(request: HttpRequest, caller: Caller, session_id: uuid.UUID) -> HttpResponse:
    """End a session."""
    try:
        console_session_end(caller=caller, session_id=session_id)
    except NotFound:
        raise
    except KilonovaError as error:
        return refusal_page(request, error)
    return redirect("console-sessions")
