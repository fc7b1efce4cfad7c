"""What one sees of an instance from outside: console log, screenshot, diagnostics."""

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.identity.api.callers import caller_of
from controlplane.infra.api.identifiers import uuid_in_path
from controlplane.kernel.errors import Invalid, NotFound
from servers.api.serializers.watching import ConsoleLogOutput, DiagnosticsOutput, ScreenshotOutput, screenshot_document
from servers.instances.domain.byte_range import RangeNotSatisfiable, byte_range
from servers.instances.selectors.diagnostics import POLICY as DIAGNOSTICS
from servers.instances.selectors.diagnostics import instance_diagnostics
from servers.instances.selectors.instances import console_log_stored, console_log_tail, instance_get
from servers.instances.selectors.screenshots import screenshot_state
from servers.instances.services.screenshot import screenshot_request
from servers.models import Instance

MAX_LINES = 10_000


class InstanceWatching:
    """Actions of `InstanceViewSet`."""

    policy = {
        "console_log": "instances:console",
        "console_log_download": "instances:console",
        "screenshot": "instances:console",
        "screenshot_take": "instances:console",
        "screenshot_image": "instances:console",
        "diagnostics": DIAGNOSTICS,
    }

    @extend_schema(
        parameters=[
            OpenApiParameter("lines", OpenApiTypes.INT, description="How many lines of the end; 100."),
            OpenApiParameter("length", OpenApiTypes.INT, description="At most so many bytes of the end, instead."),
        ],
        responses=ConsoleLogOutput,
    )
    @action(detail=True, methods=["get"], url_path="console-log")
    def console_log(self, request: Request, pk: str) -> Response:
        """The end of the serial log. `size` is how many bytes of it are kept."""
        instance = _instance(request, pk)
        stored = console_log_stored(instance_id=instance.pk)
        length = _number(request, "length", default=0, maximum=2**31)
        if length:
            text = stored[-length:].decode("utf-8", "ignore")
        else:
            text = console_log_tail(instance_id=instance.pk, lines=_number(request, "lines", 100, MAX_LINES))
        return Response({"output": text, "size": len(stored)})

    @extend_schema(
        parameters=[OpenApiParameter("Range", OpenApiTypes.STR, OpenApiParameter.HEADER, description="bytes=0-1023")],
        responses={(200, "text/plain"): OpenApiTypes.STR, (206, "text/plain"): OpenApiTypes.STR},
    )
    @action(detail=True, methods=["get"], url_path="console-log/download")
    def console_log_download(self, request: Request, pk: str) -> HttpResponse:
        """All that is kept of the serial log, as a file; or one range of its bytes."""
        instance = _instance(request, pk)
        return console_file(instance, console_log_stored(instance_id=instance.pk), request.headers.get("Range", ""))

    @extend_schema(responses=ScreenshotOutput)
    @action(detail=True, methods=["get"], url_path="screenshot")
    def screenshot(self, request: Request, pk: str) -> Response:
        """Whether there is a picture of its screen, and whether another one is under way."""
        return Response(screenshot_document(screenshot_state(_instance(request, pk)), caller_of(request)))

    @extend_schema(request=None, responses={202: ScreenshotOutput})
    @screenshot.mapping.post
    def screenshot_take(self, request: Request, pk: str) -> Response:
        """Asks its host for a picture. It is there within a second or so; asked twice it is one."""
        caller = caller_of(request)
        instance = screenshot_request(caller=caller, instance_id=uuid_in_path(pk, what="Instance"))
        return Response(screenshot_document(screenshot_state(instance), caller), status=status.HTTP_202_ACCEPTED)

    @extend_schema(
        responses={(200, "image/png"): OpenApiTypes.BINARY, 404: OpenApiResponse(description="None is kept.")}
    )
    @action(detail=True, methods=["get"], url_path="screenshot/image")
    def screenshot_image(self, request: Request, pk: str) -> HttpResponse:
        """The newest picture, a PNG."""
        return screenshot_file(_instance(request, pk))

    @extend_schema(responses=DiagnosticsOutput)
    @action(detail=True, methods=["get"])
    def diagnostics(self, request: Request, pk: str) -> Response:
        """Admins: what it has used, in the form of Nova's diagnostics 2.48. 409 for a guest that is off."""
        return Response(instance_diagnostics(caller=caller_of(request), instance=_instance(request, pk)))


def console_file(instance: Instance, stored: bytes, asked: str) -> HttpResponse:
    """The serial log as a file to be saved, never to be shown by a browser: a guest may write anything."""
    try:
        part = byte_range(asked, len(stored))
    except RangeNotSatisfiable:
        return HttpResponse(status=416, headers={"Content-Range": f"bytes */{len(stored)}"})
    first, end = part or (0, len(stored))
    answer = HttpResponse(stored[first:end], status=206 if part else 200, content_type="text/plain; charset=utf-8")
    answer["Accept-Ranges"] = "bytes"
    answer["Content-Disposition"] = f'attachment; filename="console-{instance.pk}.log"'
    answer["X-Content-Type-Options"] = "nosniff"
    if part:
        answer["Content-Range"] = f"bytes {first}-{end - 1}/{len(stored)}"
    return answer


def screenshot_file(instance: Instance) -> HttpResponse:
    """The newest picture. Raises NotFound."""
    found = screenshot_state(instance)
    if not found.png:
        raise NotFound("No picture of its screen is kept.")
    headers = {"Cache-Control": "private, no-store", "X-Content-Type-Options": "nosniff"}
    return HttpResponse(found.png, content_type="image/png", headers=headers)


def _instance(request: Request, pk: str) -> Instance:
    return instance_get(caller=caller_of(request), instance_id=uuid_in_path(pk, what="Instance"))


def _number(request: Request, name: str, default: int, maximum: int) -> int:
    raw = request.query_params.get(name)
    if raw is None:
        return default
    if not (raw.isdecimal() and raw.isascii()) or len(raw) > 12 or not 0 < int(raw) <= maximum:
        raise Invalid(f"{name} must be a whole number from 1 to {maximum}.", field=name)
    return int(raw)
