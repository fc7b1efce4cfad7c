"""Pages and the Django admin speak the reader's language; programs are always answered in English."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils import translation
from django.utils.cache import patch_vary_headers

from controlplane.identity.actor_middleware import is_for_people


class LanguageMiddleware:
    """The language is the one that was chosen in this browser (a cookie, as the theme is), else the first of those that
    the browser asks for which there is.

    Nothing that is stored may depend on it: services and jobs call no translation, pages translate what they show.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not is_for_people(request):
            return self.get_response(request)
        language = translation.get_language_from_request(request)
        with translation.override(language):
            response = self.get_response(request)
        response.headers.setdefault("Content-Language", language)
        patch_vary_headers(response, ("Accept-Language",))
        return response
