"""The icon that browsers ask for by themselves, on the pages of the admin and of the API's documents."""

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.templatetags.static import static
from django.utils.cache import patch_cache_control
from django.views.decorators.http import require_safe

DAY_S = 86_400


@require_safe
def favicon(request: HttpRequest) -> HttpResponse:
    """Leads to the icon of our own pages, whose name may change with the next release."""
    response = HttpResponseRedirect(static("kilonova/icon.svg"))
    patch_cache_control(response, public=True, max_age=DAY_S)
    return response
