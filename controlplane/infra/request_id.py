"""The request id: taken or made at the door, sent back, and carried into jobs, rows and logs."""

import time
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from controlplane.infra.request_log import record_request
from controlplane.kernel.ids import is_request_id, new_request_id
from controlplane.kernel.request_scope import REQUEST_ID_HEADER as HEADER
from controlplane.kernel.request_scope import current_request_id, request_id_scope

__all__ = ["HEADER", "RequestIdMiddleware", "current_request_id", "request_id_scope"]


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
