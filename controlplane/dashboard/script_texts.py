"""The texts of the pages' scripts in one language, as a script that comes before them."""

from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.utils import translation
from django.utils.cache import patch_cache_control
from django.views.decorators.http import require_safe
from django.views.i18n import JavaScriptCatalog

HOUR_S = 3600


class OwnCatalog(JavaScriptCatalog):
    """The texts of our own scripts, without those of the Django admin."""

    packages = ["controlplane"]

    def get_paths(self, packages: Any) -> list[str]:
        """Where `make messages` puts them."""
        return [str(path) for path in settings.LOCALE_PATHS]


_catalog = OwnCatalog.as_view()


@require_safe
def script_texts(request: HttpRequest, language: str) -> HttpResponseBase:
    """It says nothing of anybody, and the language stands in its address, so browsers and proxies may keep it."""
    if language not in dict(settings.LANGUAGES):
        raise Http404("There is no such language.")
    with translation.override(language):
        response = _catalog(request)
    patch_cache_control(response, public=True, max_age=HOUR_S)
    response.headers["Content-Language"] = language
    return response
