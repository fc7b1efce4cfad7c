"""Device profiles: everybody reads, admins write."""

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ReadOnlyModelViewSet

from controlplane.infra.api.identifiers import uuid_in_path
from servers.api.serializers.catalog import DeviceProfileInput, DeviceProfileOutput
from servers.catalog.selectors.device_profile import device_profile_get, device_profiles
from servers.catalog.services.device_profile import (
    device_profile_create,
    device_profile_delete,
    device_profile_update,
)
from servers.filtersets import DeviceProfileFilterSet
from servers.models import DeviceProfile


class DeviceProfileViewSet(ReadOnlyModelViewSet[DeviceProfile]):
    """What a flavor's `accel:device_profile` means. Instances have what it said when they were asked for."""

    policy = {
        "list": "device_profiles:read",
        "retrieve": "device_profiles:read",
        "create": "device_profiles:write",
        "partial_update": "device_profiles:write",
        "destroy": "device_profiles:write",
    }
    queryset = DeviceProfile.objects.none()
    serializer_class = DeviceProfileOutput
    filterset_class = DeviceProfileFilterSet
    ordering_fields = ["name", "created_at"]

    def get_queryset(self) -> QuerySet[DeviceProfile]:
        """All of them."""
        return device_profiles()

    def get_object(self) -> DeviceProfile:
        """The one that the address names."""
        return device_profile_get(profile_id=uuid_in_path(self.kwargs["pk"], what="Device profile"))

    @extend_schema(request=DeviceProfileInput, responses={201: DeviceProfileOutput})
    def create(self, request: Request) -> Response:
        """Makes a profile that flavors may name."""
        body = DeviceProfileInput(data=request.data)
        body.is_valid(raise_exception=True)
        profile = device_profile_create(**body.validated_data)
        return Response(DeviceProfileOutput(profile).data, status=status.HTTP_201_CREATED)

    @extend_schema(request=DeviceProfileInput, responses=DeviceProfileOutput)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Changes it for instances to come."""
        body = DeviceProfileInput(data=request.data, partial=True)
        body.is_valid(raise_exception=True)
        profile = device_profile_update(profile_id=self.get_object().pk, changes=body.validated_data)
        return Response(DeviceProfileOutput(profile).data)

    def destroy(self, request: Request, pk: str) -> Response:
        """Removes one that no flavor asks for."""
        device_profile_delete(profile_id=self.get_object().pk)
        return Response(status=status.HTTP_204_NO_CONTENT)
