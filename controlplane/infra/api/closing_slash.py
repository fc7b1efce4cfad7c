"""Routes of /api/ end in a slash. What is asked without it is served as if it had it, whatever the verb: a redirect
would turn a POST into a GET, which does nothing and looks like success.
"""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

API = "/api/"


class ClosingSlash:
    """Before whatever looks at paths, Django's own redirect among it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if f"{request.path_info}/".startswith(API) and not request.path_info.endswith("/"):
            request.path_info += "/"
            request.path += "/"
        return self.get_response(request)
