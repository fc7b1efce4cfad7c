"""Server groups of the caller's project."""

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ReadOnlyModelViewSet

from controlplane.identity.api.callers import caller_of
from controlplane.infra.api.identifiers import uuid_in_path
from servers.api.serializers.catalog import ServerGroupInput, ServerGroupOutput
from servers.catalog.selectors.server_group import server_group_get, server_groups_visible
from servers.catalog.services.server_group import server_group_create, server_group_delete
from servers.filtersets import ServerGroupFilterSet
from servers.models import ServerGroup


class ServerGroupViewSet(ReadOnlyModelViewSet[ServerGroup]):
    """Instances join with the hint `group` when they are created."""

    policy = {
        "list": "server_groups:read",
        "retrieve": "server_groups:read",
        "create": "server_groups:write",
        "destroy": "server_groups:write",
    }
    queryset = ServerGroup.objects.none()
    serializer_class = ServerGroupOutput
    filterset_class = ServerGroupFilterSet
    ordering_fields = ["name", "policy", "created_at"]

    def get_queryset(self) -> QuerySet[ServerGroup]:
        """What the caller may see."""
        return server_groups_visible(caller=caller_of(self.request))

    def get_object(self) -> ServerGroup:
        """The one that the address names."""
        group_id = uuid_in_path(self.kwargs["pk"], what="Server group")
        return server_group_get(caller=caller_of(self.request), group_id=group_id)

    @extend_schema(request=ServerGroupInput, responses={201: ServerGroupOutput})
    def create(self, request: Request) -> Response:
        """Makes an empty group."""
        body = ServerGroupInput(data=request.data)
        body.is_valid(raise_exception=True)
        group = server_group_create(caller=caller_of(request), **body.validated_data)
        return Response(ServerGroupOutput(group).data, status=status.HTTP_201_CREATED)

    def destroy(self, request: Request, pk: str) -> Response:
        """Removes the group, not its instances."""
        server_group_delete(caller=caller_of(request), group_id=uuid_in_path(pk, what="Server group"))
        return Response(status=status.HTTP_204_NO_CONTENT)
