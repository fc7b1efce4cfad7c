"""`/events/`: a stream that tells an open page when to look again. It never says what there is to see."""

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_GET

from controlplane.dashboard.events.page_feed import PageFeed, feeds_may_go_on
from controlplane.dashboard.events.watches import topics_watched
from controlplane.dashboard.pages import page
from controlplane.identity.domain import Caller
from controlplane.infra.api.errors import status_of
from controlplane.infra.event_streams import places
from controlplane.kernel.errors import Throttled, Unavailable


@require_GET
@page("me:read")
def events(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """`?watch=...`, several times. 204 under a server that holds no streams, 429 or 503 where there is no room for one
    more: then the page looks by itself.
    """
    topics = topics_watched(caller, request.GET.getlist("watch"))
    room = places()
    if room is None:
        return HttpResponse(status=204)
    feed = PageFeed(caller, request.session.session_key or "", topics)
    try:
        body = room.take(feed, feeds_may_go_on)
    except (Unavailable, Throttled) as error:
        refused = HttpResponse(error.message, content_type="text/plain", status=status_of(error))
        refused["Retry-After"] = str(error.extra["wait_s"])
        return refused
    response = StreamingHttpResponse(body, content_type="text/event-stream; charset=utf-8")
    response["Cache-Control"] = "no-store, no-transform"  # a proxy that compresses would wait for more
    response["X-Accel-Buffering"] = "no"  # nginx: hand on each event as it comes
    return response
