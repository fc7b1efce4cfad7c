"""The faults of this API: Nova's names for them, and the statuses of what our services refuse."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus

import orjson
from django.http import HttpResponse

from controlplane.kernel.errors import (
    Conflict,
    Forbidden,
    Invalid,
    InvalidFields,
    KilonovaError,
    NoCapacity,
    NotFound,
    Throttled,
    TooLarge,
    Unavailable,
)
from controlplane.openstack.faults import ApiFault, FaultsDescribed, bad_request
from servers.volumes.domain.errors import InvalidVolume, VolumeAttached

NAMES = {
    400: "badRequest",
    401: "unauthorized",
    403: "forbidden",
    404: "itemNotFound",
    405: "badMethod",
    409: "conflictingRequest",
    413: "overLimit",
    415: "badMediaType",
    429: "overLimit",
    501: "notImplemented",
    503: "serviceUnavailable",
}
"""Of other statuses: computeFault."""
FAULTS = FaultsDescribed(
    {
        "type": "object",
        "description": "One key, which is the name of the fault; of a 401 it is `error`.",
        "additionalProperties": {
            "type": "object",
            "properties": {"code": {"type": "integer"}, "message": {"type": "string"}},
            "required": ["code", "message"],
        },
        "minProperties": 1,
        "maxProperties": 1,
    },
    frozenset({*NAMES, 406}),
)

STATUSES: tuple[tuple[type[KilonovaError], int], ...] = (
    (NotFound, 404),
    (Forbidden, 403),
    (InvalidVolume, 400),
    (VolumeAttached, 400),
    (Conflict, 409),
    (NoCapacity, 400),
    (Throttled, 429),
    (Unavailable, 503),
    (TooLarge, 413),
    (Invalid, 400),
)
"""The first class that an error is of says its status. As in Nova, what is over a quota is Forbidden, and a volume in a
state for which a server cannot have it is a mistake of the request.
"""


def error_fault(error: KilonovaError) -> ApiFault:
    """An error of a service as this API answers it."""
    status = next((status for kind, status in STATUSES if isinstance(error, kind)), 400)
    return ApiFault(status, _all_reasons(error.errors) if isinstance(error, InvalidFields) else error.message)


def _all_reasons(errors: Mapping[str, Sequence[str]]) -> str:
    """With the field before each, so that one answer says all that is wrong."""
    return " ".join(f"{field}: {' '.join(reasons)}" for field, reasons in errors.items())


@contextmanager
def named_in_body() -> Iterator[None]:
    """What a body names and what there is not is a mistake in the body: 400, since the path was found."""
    try:
        yield
    except NotFound as error:
        raise bad_request(error.message) from error


@contextmanager
def fields_named(names: Mapping[str, str]) -> Iterator[None]:
    """What is wrong with fields of the body is said by the names that they have in it; `names` maps the service's."""
    try:
        yield
    except InvalidFields as error:
        raise InvalidFields({_name_in(field, names): reasons for field, reasons in error.errors.items()}) from error


def _name_in(field: str, names: Mapping[str, str]) -> str:
    """Of `hints.group`, which is a part of a field, the first word is looked up."""
    first, dot, rest = field.partition(".")
    return f"{names.get(first, first)}{dot}{rest}"


@contextmanager
def passed_on() -> Iterator[None]:
    """What another service refuses as a conflict, Nova passes on as a mistake of the request: 400."""
    try:
        yield
    except Conflict as error:
        raise bad_request(error.message) from error


def fault_response(fault: ApiFault, *, minor: int | None, accept: str, method: str = "") -> HttpResponse:
    """The fault as an HTTP answer: {"itemNotFound": {"code": 404, "message": "..."}}."""
    title = HTTPStatus(fault.status).phrase
    said = {"code": fault.status, "message": fault.detail or f"{title}."}
    if fault.status == HTTPStatus.UNAUTHORIZED:
        body = {"error": {**said, "title": title}}
    else:
        body = {NAMES.get(fault.status, "computeFault"): said}
    response = HttpResponse(orjson.dumps(body), status=fault.status, content_type="application/json")
    if fault.status == HTTPStatus.UNAUTHORIZED:
        response["WWW-Authenticate"] = 'Keystone uri="/identity/v3"'
    if fault.allow:
        response["Allow"] = fault.allow
    return response
