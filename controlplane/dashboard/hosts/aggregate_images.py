"""The image caches of an aggregate: which images its hosts shall have, and how far each is. For admins."""

import uuid

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_http_methods

from controlplane.dashboard.pages import page, show
from controlplane.identity.domain import Caller
from controlplane.identity.policy import require
from controlplane.infra.reader_texts import refusal_text
from controlplane.kernel.errors import Conflict, Invalid
from controlplane.kernel.ids import parse_uuid
from scheduling.fleet.selectors.aggregates import aggregate_members
from servers.hosts.selectors.images import image_cache_requests, images_cacheable
from servers.images.services.host_images import aggregate_images_cache

PAGE_SIZE = 50


@require_http_methods(["GET", "HEAD", "POST"])
@page("aggregates:read")
def aggregate_images(request: HttpRequest, caller: Caller, aggregate_id: uuid.UUID) -> HttpResponse:
    """Ask for an image on all hosts, and see the requests host by host."""
    name, hosts = aggregate_members(aggregate_id=aggregate_id)
    error = ""
    if request.method == "POST":
        require(caller, "aggregates:write")
        image_id = parse_uuid(request.POST.get("image", ""))
        try:
            if image_id is None:
                raise Invalid(gettext("Choose an image."), field="image")
            asked = aggregate_images_cache(aggregate_id=aggregate_id, image_ids=[image_id], asked_by=caller.username)
        except (Invalid, Conflict) as refusal:
            error = refusal_text(refusal)
        else:
            notice = ngettext(
                "%(count)s host was asked. Each fetches it within a minute or so.",
                "%(count)s hosts were asked. Each fetches it within a minute or so.",
                asked,
            ) % {"count": asked}
            messages.success(request, notice, extra_tags="good")
            return redirect("aggregate-images", aggregate_id=aggregate_id)
    requests = Paginator(image_cache_requests(aggregate_id=aggregate_id), PAGE_SIZE).get_page(request.GET.get("page"))
    context = {
        "aggregate_id": aggregate_id,
        "name": name,
        "member_count": len(hosts),
        "images": images_cacheable(),
        "page": requests,
        "error": error,
    }
    return show(request, caller, "dashboard/aggregate_images.html", "hosts", **context)
