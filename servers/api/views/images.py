"""Images: their records, and their bytes under `/file/`."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ReadOnlyModelViewSet

from controlplane.identity.api.callers import caller_of
from controlplane.infra.api.identifiers import uuid_in_path
from servers.api.raw_body import RAW, raw_body
from servers.api.serializers.images import ImageChange, ImageImportInput, ImageInput, ImageOutput
from servers.filtersets import ImageFilterSet
from servers.images.downloads import ImageResponse, user_downloads
from servers.images.selectors import image_get, images_listed
from servers.images.services.image import image_create, image_deactivate, image_reactivate, image_update
from servers.images.services.image_import import image_create_by_import, image_import
from servers.images.services.image_store import image_chunks, image_delete, image_upload
from servers.images.services.image_tasks import image_task_cancel
from servers.images.uploads import upload_places
from servers.models import Image

CHECKSUM_HEADER = "X-Checksum-Sha256"


class ErrorsToOctetClients(JSONRenderer):
    """For a client that accepts octets only: data is streamed past renderers, so what is left are errors."""

    media_type = RAW
    format = "octets"


FILE_RENDERERS = [JSONRenderer, ErrorsToOctetClients]


class ImageViewSet(ReadOnlyModelViewSet[Image]):
    """Public images and those of the caller's project; all for admins."""

    policy = {
        "list": "images:read",
        "retrieve": "images:read",
        "create": "images:write",
        "partial_update": "images:write",
        "destroy": "images:write",
        "file": "images:write",
        "download": "images:read",
        "deactivate": "images:publish",
        "reactivate": "images:publish",
        "import_bytes": "images:write",
        "import_cancel": "images:write",
    }
    queryset = Image.objects.none()
    serializer_class = ImageOutput
    filterset_class = ImageFilterSet
    ordering_fields = ["name", "status", "size_bytes", "created_at"]

    def get_queryset(self) -> QuerySet[Image]:
        """What lists show the caller: community images of others only to those who ask for this visibility."""
        asked = {name: self.request.query_params.get(name, "") for name in ("visibility", "member_status")}
        return images_listed(caller=caller_of(self.request), **asked).select_related("task")

    def get_object(self) -> Image:
        """The one that the address names."""
        image_id = uuid_in_path(self.kwargs["pk"], what="Image")
        return image_get(caller=caller_of(self.request), image_id=image_id)

    @extend_schema(request=ImageInput, responses={201: ImageOutput})
    def create(self, request: Request) -> Response:
        """Makes the record (`queued`); its bytes follow by PUT to `/file/`, or by the import that is asked for."""
        body = ImageInput(data=request.data)
        body.is_valid(raise_exception=True)
        fields: dict[str, Any] = body.validated_data
        caller, image_id, source = caller_of(request), fields.pop("id", None), fields.pop("import_from", None)
        if source is None:
            image = image_create(caller=caller, image_id=image_id, **fields)
        else:
            image = image_create_by_import(caller=caller, image_id=image_id, **source, **fields)
        return self._shown(image, status.HTTP_201_CREATED)

    @extend_schema(request=ImageChange, responses=ImageOutput)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Changes the record. Format and expected checksum only before there is data."""
        body = ImageChange(data=request.data, partial=True)
        body.is_valid(raise_exception=True)
        image_id = uuid_in_path(pk, what="Image")
        return self._shown(image_update(caller=caller_of(request), image_id=image_id, changes=body.validated_data))

    def destroy(self, request: Request, pk: str) -> Response:
        """Removes record and bytes, unless it is protected. Instances made of it keep their disks."""
        image_delete(caller=caller_of(request), image_id=uuid_in_path(pk, what="Image"))
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(
        request={RAW: OpenApiTypes.BINARY},
        parameters=[OpenApiParameter(CHECKSUM_HEADER, str, OpenApiParameter.HEADER, description="Expected checksum.")],
        responses=ImageOutput,
    )
    @action(detail=True, methods=["put"], renderer_classes=FILE_RENDERERS)
    def file(self, request: Request, pk: str) -> Response:
        """Takes the bytes (application/octet-stream), checks them and makes the image active.

        429 while they are on their way already, and while too many images are, in all or from the project.
        """
        image_id = uuid_in_path(pk, what="Image")
        stream, declared_bytes = raw_body(request)
        caller = caller_of(request)
        with upload_places().held(project=str(caller.own_project_id), image_id=image_id):
            image = image_upload(
                caller=caller,
                image_id=image_id,
                stream=stream,
                declared_bytes=declared_bytes,
                expected_sha256=request.headers.get(CHECKSUM_HEADER, ""),
            )
        return self._shown(image)

    @extend_schema(responses={(200, RAW): OpenApiTypes.BINARY})
    @file.mapping.get
    def download(self, request: Request, pk: str) -> ImageResponse:
        """The bytes, with their checksum as a header. 403 for a deactivated image, except to admins; 429 while too many
        are being sent, to all or to the project.
        """
        image, caller = self.get_object(), caller_of(request)
        response = user_downloads().response(str(caller.own_project_id), lambda: image_chunks(image.pk, caller=caller))
        response["Content-Disposition"] = f'attachment; filename="{image.pk}.{image.disk_format}"'
        response[CHECKSUM_HEADER] = image.checksum_sha256
        return response

    @extend_schema(request=ImageImportInput, responses={202: ImageOutput})
    @action(detail=True, methods=["post"], url_path="import")
    def import_bytes(self, request: Request, pk: str) -> Response:
        """Has the bytes fetched from a URL, in the background: `task` of the image says how far that is."""
        body = ImageImportInput(data=request.data)
        body.is_valid(raise_exception=True)
        image_id = uuid_in_path(pk, what="Image")
        image = image_import(caller=caller_of(request), image_id=image_id, **body.validated_data)
        return self._shown(image, status.HTTP_202_ACCEPTED)

    @extend_schema(request=None, responses=ImageOutput)
    @import_bytes.mapping.delete
    def import_cancel(self, request: Request, pk: str) -> Response:
        """Ends the import or conversion that is under way. The image may get its bytes again."""
        return self._shown(image_task_cancel(caller=caller_of(request), image_id=uuid_in_path(pk, what="Image")))

    @extend_schema(request=None, responses=ImageOutput)
    @action(detail=True, methods=["post"])
    def deactivate(self, request: Request, pk: str) -> Response:
        """No new instances of it, and only admins read its bytes. For admins."""
        return self._shown(image_deactivate(image_id=self.get_object().pk))

    @extend_schema(request=None, responses=ImageOutput)
    @action(detail=True, methods=["post"])
    def reactivate(self, request: Request, pk: str) -> Response:
        """Undoes deactivate. For admins."""
        return self._shown(image_reactivate(image_id=self.get_object().pk))

    def _shown(self, image: Image, code: int = status.HTTP_200_OK) -> Response:
        return Response(ImageOutput(image).data, status=code)
