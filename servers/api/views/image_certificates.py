"""Certificates by which signed images are verified."""

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ReadOnlyModelViewSet

from controlplane.identity.api.callers import caller_of
from controlplane.infra.api.identifiers import uuid_in_path
from servers.api.serializers.image_certificates import ImageCertificateInput, ImageCertificateOutput
from servers.images.services.certificates import certificate_create, certificate_delete, certificates_visible
from servers.models import ImageCertificate


class ImageCertificateViewSet(ReadOnlyModelViewSet[ImageCertificate]):
    """Those of the caller's project, and those that every project shares."""

    policy = {
        "list": "image_certificates:read",
        "retrieve": "image_certificates:read",
        "create": "image_certificates:write",
        "destroy": "image_certificates:write",
    }
    queryset = ImageCertificate.objects.none()
    serializer_class = ImageCertificateOutput
    ordering_fields = ["name", "created_at", "not_after"]

    def get_queryset(self) -> QuerySet[ImageCertificate]:
        """Also for admins only what their project may use, since that is what their creates see."""
        return certificates_visible(project_id=caller_of(self.request).project_id)

    @extend_schema(request=ImageCertificateInput, responses={201: ImageCertificateOutput})
    def create(self, request: Request) -> Response:
        """Keeps one."""
        body = ImageCertificateInput(data=request.data)
        body.is_valid(raise_exception=True)
        made = certificate_create(caller=caller_of(request), **body.validated_data)
        return Response(ImageCertificateOutput(made).data, status=status.HTTP_201_CREATED)

    def destroy(self, request: Request, pk: str) -> Response:
        """Deletes one."""
        certificate_delete(caller=caller_of(request), certificate_id=uuid_in_path(pk, what="Certificate"))
        return Response(status=status.HTTP_204_NO_CONTENT)
