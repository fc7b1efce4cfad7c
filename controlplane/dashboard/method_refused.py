"""A page for 405: Django answers a method that an address does not take with an empty body, which browsers fill."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import render


class MethodRefusedPage:
    """For people's pages. The APIs answer in their own shape, which is not empty."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if (
            not isinstance(response, HttpResponseNotAllowed)
            or response.content
            or request.path_info.startswith("/api/")
        ):
            return response
        page = render(request, "405.html", {"method": request.method}, status=405)
        page["Allow"] = response["Allow"]
        return page
