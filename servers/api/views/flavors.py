"""Flavors: everybody reads, admins write."""

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
from servers.api.serializers.catalog import FlavorInput, FlavorOutput, FlavorProjectsOutput
from servers.catalog.selectors.flavor import flavor_get, flavor_projects, flavors_visible
from servers.catalog.services.flavor import (
    flavor_access_add,
    flavor_access_remove,
    flavor_create,
    flavor_delete,
    flavor_update,
)
from servers.filtersets import FlavorFilterSet
from servers.models import Flavor


class FlavorViewSet(ReadOnlyModelViewSet[Flavor]):
    """Flavors: the public ones that take new instances, and all of them for administrators."""

    policy = {
        "list": "flavors:read",
        "retrieve": "flavors:read",
        "create": "flavors:write",
        "partial_update": "flavors:write",
        "destroy": "flavors:write",
    }
    queryset = Flavor.objects.none()
    serializer_class = FlavorOutput
    filterset_class = FlavorFilterSet
    ordering_fields = ["name", "vcpus", "memory_mib", "root_gib", "created_at"]

    def get_queryset(self) -> QuerySet[Flavor]:
        """Public and enabled ones; all for admins."""
        return flavors_visible(caller=caller_of(self.request))

    def get_object(self) -> Flavor:
        """The one that the address names."""
        flavor_id = uuid_in_path(self.kwargs["pk"], what="Flavor")
        return flavor_get(caller=caller_of(self.request), flavor_id=flavor_id)

    @extend_schema(request=FlavorInput, responses={201: FlavorOutput})
    def create(self, request: Request) -> Response:
        """Offers a new size."""
        body = FlavorInput(data=request.data)
        body.is_valid(raise_exception=True)
        return Response(FlavorOutput(flavor_create(**body.validated_data)).data, status=status.HTTP_201_CREATED)

    @extend_schema(request=FlavorInput, responses=FlavorOutput)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Changes it for instances to come; those that exist keep what they have."""
        body = FlavorInput(data=request.data, partial=True)
        body.is_valid(raise_exception=True)
        changes: dict[str, Any] = body.validated_data
        return Response(FlavorOutput(flavor_update(flavor_id=self.get_object().pk, changes=changes)).data)

    def destroy(self, request: Request, pk: str) -> Response:
        """Takes it off the offer."""
        flavor_delete(flavor_id=self.get_object().pk)
        return Response(status=status.HTTP_204_NO_CONTENT)


class FlavorProjectsView(APIView):
    """Who may use a flavor that is not public."""

    policy = {"get": "flavors:write"}

    @extend_schema(operation_id="flavor_projects", responses=FlavorProjectsOutput)
    def get(self, request: Request, pk: str) -> Response:
        """Ids of projects. For admins."""
        flavor = flavor_get(caller=caller_of(request), flavor_id=uuid_in_path(pk, what="Flavor"))
        projects = [project_id for project_id, _ in flavor_projects(flavor_id=flavor.pk)]
        return Response(FlavorProjectsOutput({"projects": projects}).data)


class FlavorProjectView(APIView):
    """One project that may use a flavor which is not public."""

    policy = {"put": "flavors:write", "delete": "flavors:write"}

    @extend_schema(operation_id="flavor_project_add", request=None, responses={204: None})
    def put(self, request: Request, pk: str, project: str) -> Response:
        """Lets it use the flavor."""
        flavor_id, project_id = uuid_in_path(pk, what="Flavor"), uuid_in_path(project, what="Project")
        flavor_access_add(flavor_id=flavor_id, project_id=project_id)
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(operation_id="flavor_project_remove", request=None, responses={204: None})
    def delete(self, request: Request, pk: str, project: str) -> Response:
        """Takes that back. What it made of the flavor runs on."""
        flavor_id, project_id = uuid_in_path(pk, what="Flavor"), uuid_in_path(project, what="Project")
        flavor_access_remove(flavor_id=flavor_id, project_id=project_id)
        return Response(status=status.HTTP_204_NO_CONTENT)
