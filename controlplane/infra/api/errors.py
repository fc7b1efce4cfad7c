"""Errors of the own REST API: one shape, whatever went wrong.

{"error": {"code", "message", "field", "reasons": {field: [...]}, "request_id", ...numbers}}
"""

import logging
import math
from types import NoneType
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.db import InterfaceError, OperationalError
from django.http import Http404
from rest_framework import exceptions, status
from rest_framework.response import Response
from rest_framework.views import exception_handler as drf_exception_handler

from controlplane.infra.database_errors import database_unavailable
from controlplane.infra.request_id import current_request_id
from controlplane.kernel import errors

log = logging.getLogger(__name__)

STATUS: list[tuple[type[errors.KilonovaError], int]] = [
    (errors.TooLarge, status.HTTP_413_REQUEST_ENTITY_TOO_LARGE),
    (errors.Invalid, status.HTTP_400_BAD_REQUEST),
    (errors.NotFound, status.HTTP_404_NOT_FOUND),
    (errors.Forbidden, status.HTTP_403_FORBIDDEN),
    (errors.NoCapacity, status.HTTP_409_CONFLICT),
    (errors.Conflict, status.HTTP_409_CONFLICT),
    (errors.Unavailable, status.HTTP_503_SERVICE_UNAVAILABLE),
    (errors.Throttled, status.HTTP_429_TOO_MANY_REQUESTS),
]
CODES = {400: "invalid", 401: "unauthorized", 403: "forbidden", 404: "not_found", 405: "method_not_allowed"}
CODES |= {406: "not_acceptable", 413: "too_large", 415: "unsupported_media_type", 429: "throttled"}
PLAIN = (str, int, float, bool, list, dict, NoneType)
"""What JSON writes as it is; anything else is written as text."""


def status_of(error: errors.KilonovaError) -> int:
    """The HTTP status of a kernel error."""
    return next((code for kind, code in STATUS if isinstance(error, kind)), status.HTTP_400_BAD_REQUEST)


def headers_of(error: errors.KilonovaError) -> dict[str, str]:
    """When it may be asked again, where that is known."""
    is_known = isinstance(error, errors.Throttled)
    return {"Retry-After": f"{math.ceil(error.extra.get('wait_s', 1))}"} if is_known else {}


def exception_handler(error: Exception, context: dict[str, Any]) -> Response | None:
    """DRF's hook. Unknown exceptions give a 500 without detail; their traceback goes to the log only.

    A database that is away, or has no room left, is a 503: nothing is wrong with the request, and the same one may
    succeed later.
    """
    if isinstance(error, (OperationalError, InterfaceError)):
        log.warning("the database failed in %s", context.get("view"), exc_info=error)
        error = database_unavailable(error)
    if isinstance(error, RequestDataTooBig):
        error = errors.TooLarge(f"The body is larger than {settings.DATA_UPLOAD_MAX_MEMORY_SIZE} bytes.")
    if isinstance(error, errors.KilonovaError):
        return Response(kernel_body(error), status=status_of(error), headers=headers_of(error))
    if isinstance(error, Http404):
        error = exceptions.NotFound()
    elif isinstance(error, PermissionDenied):
        error = exceptions.PermissionDenied()
    if isinstance(error, exceptions.APIException):
        return _drf_response(error, context)
    log.error("unexpected failure in %s", context.get("view"), exc_info=error)
    message = "Something went wrong here; the request id finds it in the log."
    return Response(body("internal", message), status=status.HTTP_500_INTERNAL_SERVER_ERROR)


def kernel_body(error: errors.KilonovaError) -> dict[str, Any]:
    """The body for a kernel error."""
    reasons = error.errors if isinstance(error, errors.InvalidFields) else {}
    if error.field and not reasons:
        reasons = {error.field: [error.message]}
    return body(error.code, error.message, field=error.field, reasons=reasons, **error.extra)


def body(
    code: str,
    message: str,
    *,
    field: str | None = None,
    reasons: dict[str, list[str]] | None = None,
    **extra: Any,
) -> dict[str, Any]:
    """The body of every error: the one shape that the module describes."""
    shape: dict[str, Any] = {key: value if isinstance(value, PLAIN) else str(value) for key, value in extra.items()}
    shape |= {"code": code, "message": message, "field": field, "reasons": reasons or {}}
    return {"error": {**shape, "request_id": current_request_id()}}


def _drf_response(error: exceptions.APIException, context: dict[str, Any]) -> Response | None:
    response = drf_exception_handler(error, context)
    if response is None:
        return None
    if isinstance(error, exceptions.ValidationError):
        reasons = _flatten(error.detail)
        field = next(iter(reasons), None)
        message = reasons[field][0] if field else "The input is not valid."
        response.data = body("invalid", message, field=field, reasons=reasons)
    else:
        response.data = body(CODES.get(response.status_code, "error"), str(error.detail))
    return response


def _flatten(detail: Any, prefix: str = "") -> dict[str, list[str]]:
    """Nested details of serializers as {dotted field: [reason, ...]}."""
    if isinstance(detail, dict):
        flat: dict[str, list[str]] = {}
        for key, value in detail.items():
            name = prefix if key == "non_field_errors" else f"{prefix}.{key}".lstrip(".")
            flat |= _flatten(value, name)
        return flat
    if isinstance(detail, list):
        if any(isinstance(item, dict) for item in detail):
            flat = {}
            for index, item in enumerate(detail):
                flat |= _flatten(item, f"{prefix}.{index}".lstrip("."))
            return flat
        return {prefix or "body": [str(item) for item in detail]}
    return {prefix or "body": [str(detail)]}
