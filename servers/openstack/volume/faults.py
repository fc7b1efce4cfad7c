"""The faults of this API: Cinder's names for them, and the statuses of what our services refuse."""

from collections.abc import Iterator
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
    QuotaExceeded,
    Throttled,
    TooLarge,
    Unavailable,
)
from controlplane.openstack.faults import ApiFault, FaultsDescribed
from servers.volumes.domain.errors import (
    InvalidBackup,
    InvalidSnapshot,
    InvalidVolume,
    NoBackupBase,
    PoolCannot,
    PoolUnreachable,
    SnapshotIsNotLatest,
    VolumeAttached,
    VolumeHasSnapshots,
    VolumeTypeDefault,
    VolumeTypeInUse,
)

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
"""Of other statuses: computeFault, as Cinder says too."""
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
    (QuotaExceeded, 413),
    (NotFound, 404),
    (Forbidden, 403),
    (InvalidVolume, 400),
    (InvalidSnapshot, 400),
    (InvalidBackup, 400),
    (NoBackupBase, 400),
    (VolumeAttached, 400),
    (VolumeHasSnapshots, 400),
    (SnapshotIsNotLatest, 400),
    (VolumeTypeDefault, 400),
    (VolumeTypeInUse, 400),
    (PoolCannot, 400),
    (PoolUnreachable, 503),
    (Conflict, 409),
    (NoCapacity, 409),
    (Throttled, 429),
    (Unavailable, 503),
    (TooLarge, 413),
    (Invalid, 400),
)
"""The first class that an error is of says its status. A state that does not allow something is 400, as in Cinder."""

OUR_FIELDS = {"size_gib": "size", "source_id": "source", "is_read_only": "readonly", "volume": "volume_id"}
"""Fields of services under the names that clients of this API know."""


def error_fault(error: KilonovaError) -> ApiFault:
    """An error of a service as this API answers it."""
    status = next((status for kind, status in STATUSES if isinstance(error, kind)), 400)
    return ApiFault(status, _words(error))


def _words(error: KilonovaError) -> str:
    if isinstance(error, QuotaExceeded):  # by this word clients tell it from a rate that ends by itself
        return f"Quota exceeded. {error.message}"
    if not isinstance(error, InvalidFields):
        return error.message
    return " ".join(
        f"Invalid input for field {OUR_FIELDS.get(field, field)}: {' '.join(reasons)}"
        for field, reasons in error.errors.items()
    )


@contextmanager
def states_conflict() -> Iterator[None]:
    """For the one action that Cinder answers with 409 where a state does not allow it."""
    try:
        yield
    except (InvalidVolume, InvalidSnapshot, VolumeAttached) as error:
        raise ApiFault(409, error.message) from error


def fault_response(fault: ApiFault, *, minor: int | None, accept: str, method: str = "") -> HttpResponse:
    """The fault as an HTTP answer: {"itemNotFound": {"code": 404, "message": "..."}}."""
    title = HTTPStatus(fault.status).phrase
    said: dict[str, object] = {"code": fault.status, "message": fault.detail or f"{title}."}
    name = NAMES.get(fault.status, "computeFault")
    if name == "overLimit":
        said["retryAfter"] = "0"
    if fault.status == HTTPStatus.UNAUTHORIZED:
        name, said["title"] = "error", title
    response = HttpResponse(orjson.dumps({name: said}), status=fault.status, content_type="application/json")
    if fault.status == HTTPStatus.UNAUTHORIZED:
        response["WWW-Authenticate"] = 'Keystone uri="/identity/v3"'
    if name == "overLimit":
        response["Retry-After"] = "0"
    if fault.allow:
        response["Allow"] = fault.allow
    return response
