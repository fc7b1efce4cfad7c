"""What is refused before Django sees it is answered in the shape of the door that was asked."""

import json

from django.http import HttpResponse

from controlplane.infra.api.errors import kernel_body, status_of
from controlplane.infra.request_id import HEADER, request_id_scope
from controlplane.kernel.errors import KilonovaError
from controlplane.kernel.ids import new_request_id
from controlplane.launcher.openstack_doors import DOORS
from controlplane.launcher.web.answers import WebResponse
from controlplane.launcher.web.incoming import Scope
from controlplane.openstack.faults import ApiFault

PROGRAMS = frozenset({"api", "agent"})


def refusal(scope: Scope, error: KilonovaError, *, status: int = 0) -> WebResponse:
    """The answer that says it. `status` stands for that of the error's kind."""
    status, request_id = status or status_of(error), new_request_id()
    door = scope["path"].lstrip("/").partition("/")[0]
    with request_id_scope(request_id):
        if door in DOORS:
            accept = next((value.decode("latin1") for name, value in scope["headers"] if name == b"accept"), "")
            fault = ApiFault(status, error.message)
            response = DOORS[door].fault_response(fault, minor=None, accept=accept, method=scope["method"])
        elif door in PROGRAMS:
            response = HttpResponse(json.dumps(kernel_body(error)), content_type="application/json")
        else:
            response = HttpResponse(f"{error.message}\n", content_type="text/plain; charset=utf-8")
    response[HEADER] = request_id
    if "wait_s" in error.extra:
        response["Retry-After"] = str(error.extra["wait_s"])
    response["Content-Length"] = str(len(response.content))
    headers = [(name.encode("ascii"), value.encode("latin1")) for name, value in response.items()]
    return WebResponse(status, headers, response.content)
