"""Volume types: what users choose between; edited by admins."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView
from rest_framework.viewsets import ReadOnlyModelViewSet

from controlplane.identity.api.callers import caller_of
from controlplane.infra.api.identifiers import uuid_in_path
from servers.api.serializers.volume_types import (
    VolumeTypeChange,
    VolumeTypeInput,
    VolumeTypeOutput,
    VolumeTypeProjectsOutput,
)
from servers.filtersets_volume import VolumeTypeFilter
from servers.models import VolumeType
from servers.volumes.domain.volume_types import VolumeTypeRequest
from servers.volumes.selectors.volume_types import volume_type_get, volume_type_projects, volume_types_visible
from servers.volumes.services.types import (
    volume_type_access_add,
    volume_type_access_remove,
    volume_type_create,
    volume_type_delete,
    volume_type_update,
)


class VolumeTypeViewSet(ReadOnlyModelViewSet[VolumeType]):
    """Public types, and those that the caller's project was given; all for admins."""

    policy = {
        "list": "volume_types:read",
        "retrieve": "volume_types:read",
        "create": "volume_types:write",
        "partial_update": "volume_types:write",
        "destroy": "volume_types:write",
    }
    queryset = VolumeType.objects.none()
    serializer_class = VolumeTypeOutput
    filterset_class = VolumeTypeFilter
    ordering_fields = ["name", "created_at"]

    def get_queryset(self) -> QuerySet[VolumeType]:
        """What the caller may use."""
        return volume_types_visible(caller_of(self.request))

    def get_serializer_context(self) -> dict[str, Any]:
        """Who asks: pools are for administrators."""
        return {**super().get_serializer_context(), "caller": caller_of(self.request)}

    def get_object(self) -> VolumeType:
        """The one that the address names."""
        type_id = uuid_in_path(self.kwargs["pk"], what="Volume type")
        return volume_type_get(caller=caller_of(self.request), type_id=type_id)

    @extend_schema(request=VolumeTypeInput, responses={201: VolumeTypeOutput})
    def create(self, request: Request) -> Response:
        """Makes a type; as default it takes the place of the one before."""
        body = VolumeTypeInput(data=request.data)
        body.is_valid(raise_exception=True)
        made = volume_type_create(request=VolumeTypeRequest(**body.typed()))
        return Response(self.get_serializer(made).data, status=status.HTTP_201_CREATED)

    @extend_schema(request=VolumeTypeChange, responses=VolumeTypeOutput)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Changes it for volumes to come."""
        body = VolumeTypeChange(data=request.data)
        body.is_valid(raise_exception=True)
        changed = volume_type_update(type_id=uuid_in_path(pk, what="Volume type"), changes=body.typed())
        return Response(self.get_serializer(changed).data)

    def destroy(self, request: Request, pk: str) -> Response:
        """Removes a type that no volume is of."""
        volume_type_delete(type_id=uuid_in_path(pk, what="Volume type"))
        return Response(status=status.HTTP_204_NO_CONTENT)


class VolumeTypeProjectsView(APIView):
    """Who may use a type that is not public."""

    policy = {"get": "volume_types:write"}

    @extend_schema(responses=VolumeTypeProjectsOutput)
    def get(self, request: Request, pk: str) -> Response:
        """Ids of projects. For admins."""
        type_id = uuid_in_path(pk, what="Volume type")
        return Response(VolumeTypeProjectsOutput({"projects": volume_type_projects(type_id=type_id)}).data)


class VolumeTypeProjectView(APIView):
    """One project that may use a type which is not public."""

    policy = {"put": "volume_types:write", "delete": "volume_types:write"}

    @extend_schema(request=None, responses={204: None})
    def put(self, request: Request, pk: str, project: str) -> Response:
        """Lets it use the type."""
        type_id, project_id = uuid_in_path(pk, what="Volume type"), uuid_in_path(project, what="Project")
        volume_type_access_add(type_id=type_id, project_id=project_id)
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(request=None, responses={204: None})
    def delete(self, request: Request, pk: str, project: str) -> Response:
        """Takes that back. What volumes it has of the type stay."""
        type_id, project_id = uuid_in_path(pk, what="Volume type"), uuid_in_path(project, what="Project")
        volume_type_access_remove(type_id=type_id, project_id=project_id)
        return Response(status=status.HTTP_204_NO_CONTENT)
