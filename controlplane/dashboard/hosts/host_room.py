"""The part of a host's page that counts its room: asked for once the page is there, since it reads the whole fleet."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from controlplane.dashboard.capacity.table import limit_label
from controlplane.dashboard.pages import is_htmx, page, show
from controlplane.identity.domain import Caller
from controlplane.infra.reader_texts import refusal_text
from controlplane.kernel.errors import KilonovaError, NotFound
from servers.trials.host_room import host_room

PART, PAGE = "dashboard/hosts/host_room.html", "dashboard/hosts/host_room_page.html"


@require_safe
@page("capacity:read")
def host_room_part(request: HttpRequest, caller: Caller, host: str) -> HttpResponse:
    """How many more of each flavor fit on the host; a page of its own without JavaScript."""
    template = PART if is_htmx(request) else PAGE
    try:
        room = host_room(caller=caller, host=host)
    except NotFound:
        raise
    except KilonovaError as error:
        return show(request, caller, template, "hosts", host_name=host, refused=refusal_text(error))
    rows = [(one, limit_label(one.limit) if one.limit else "") for one in room.rooms]
    return show(request, caller, template, "hosts", host_name=room.host, room=room, rows=rows)
