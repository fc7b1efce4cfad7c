"""The request id: taken or made at the door, sent back, and carried into jobs, rows and logs."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from django.http import HttpRequest, HttpResponse

from controlplane.infra.request_log import record_request
from controlplane.kernel.ids import is_request_id, new_request_id

HEADER = "X-OpenStack-Request-Id"
_current: ContextVar[str] = ContextVar("request_id", default="-")


def current_request_id() -> str:
    """The id of the request or job under way; '-' outside of any."""
    return _current.get()


@contextmanager
def request_id_scope(request_id: str) -> Iterator[None]:
    """Everything inside logs and records under `request_id`."""
    token = _current.set(request_id or new_request_id())
    try:
        yield
    finally:
        _current.reset(token)


class RequestIdMiddleware:
    """Gives each request an id; a well-formed one that the client sent is used as it is, so that traces join."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        offered = request.headers.get(HEADER, "")
        with request_id_scope(offered if is_request_id(offered) else new_request_id()):
            began = time.perf_counter()
            response = self.get_response(request)
            response[HEADER] = current_request_id()
            record_request(request, response, began=began)
            return response
