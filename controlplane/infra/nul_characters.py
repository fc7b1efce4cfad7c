"""No NUL character comes in by a path, a query string or a form: PostgreSQL keeps none and fails at one.

JSON bodies are checked by `infra.api.parsers`; the Placement door, which skips this middleware, by its own rules.
Filters of pages are read by `dashboard.views.pages.filter_text`, which drops the character.
"""

from collections.abc import Callable

from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse

from controlplane.infra.api.errors import body

NUL = "\x00"
FORMS = {"application/x-www-form-urlencoded", "multipart/form-data"}


class NulRefused:
    """Innermost, so that its refusals are pages like others."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        is_api = request.path_info.startswith("/api/")
        if NUL in request.path_info:
            if is_api:
                return JsonResponse(body("not_found", "No address has a NUL character."), status=404)
            raise Http404
        if is_api:
            for name, values in request.GET.lists():
                if any(NUL in text for text in (name, *values)):
                    reason, field = "Has a NUL character, which no text may have.", name.replace(NUL, "")[:80]
                    return JsonResponse(body("invalid", reason, field=field, reasons={field: [reason]}), status=400)
        elif (
            request.method == "POST"
            and request.content_type in FORMS
            and any(NUL in text for name, values in request.POST.lists() for text in (name, *values))
        ):
            raise BadRequest("a form has a NUL character")
        return self.get_response(request)
