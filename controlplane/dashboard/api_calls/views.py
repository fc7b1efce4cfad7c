"""The call that a form makes, as it is filled in at this moment."""

from django.http import HttpRequest, HttpResponse
from django.urls import Resolver404, resolve
from django.views.decorators.http import require_POST

from controlplane.dashboard.api_calls.form_calls import form_calls
from controlplane.dashboard.pages import page, show
from controlplane.identity.domain import Caller
from controlplane.kernel.errors import NotFound

LONGEST_PATH = 500


@require_POST
@page("me:read")
def form_as_curl(request: HttpRequest, caller: Caller) -> HttpResponse:
    """`as_curl_of` is the form's address, the rest is what it holds. Nothing is done, and nothing is looked up."""
    try:
        found = resolve(request.POST.get("as_curl_of", "")[:LONGEST_PATH])
    except Resolver404:
        raise NotFound("There is no such form.") from None
    sent = {name: [str(one) for one in values] for name, values in request.POST.lists()}
    calls = form_calls(found.url_name or "", found.kwargs, sent, is_admin=caller.is_admin)
    return show(request, caller, "components/as_curl_text.html", "", calls=calls)
