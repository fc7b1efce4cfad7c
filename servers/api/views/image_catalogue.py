"""The catalogue of well-known images, and copies of them."""

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.identity.api.callers import caller_of
from servers.api.serializers.images import ImageCopyInput, ImageOutput, WellKnownImageOutput
from servers.images.services.well_known import well_known_copy, well_known_images


class ImageCatalogueView(APIView):
    """What can be copied by its key."""

    policy = {"get": "images:read"}

    @extend_schema(operation_id="image_catalogue_list", responses=WellKnownImageOutput(many=True))
    def get(self, request: Request) -> Response:
        """Lists it."""
        return Response(WellKnownImageOutput(well_known_images(), many=True).data)


class ImageCopyView(APIView):
    """A copy of one of them."""

    policy = {"post": "images:write"}

    @extend_schema(request=ImageCopyInput, responses={202: ImageOutput})
    def post(self, request: Request, key: str) -> Response:
        """Makes an image (`queued`) whose bytes are imported; it becomes active by itself."""
        body = ImageCopyInput(data=request.data)
        body.is_valid(raise_exception=True)
        image = well_known_copy(caller=caller_of(request), key=key, **body.validated_data)
        return Response(ImageOutput(image).data, status=status.HTTP_202_ACCEPTED)
