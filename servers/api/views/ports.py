"""Ports."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ReadOnlyModelViewSet

from controlplane.identity.api.callers import caller_of
from controlplane.identity.api.operator_filters import OperatorFilters
from controlplane.infra.api.identifiers import uuid_in_path
from servers.api.serializers.ports import PortChange, PortInput, PortOutput
from servers.api.views.tags import TaggedViewSet
from servers.filtersets_network import port_filters
from servers.models import Port
from servers.networks.domain.ports import PortRequest
from servers.networks.selectors.networks import owner_of
from servers.networks.selectors.ports import port_get, ports_shown
from servers.networks.selectors.tags import TaggedKind
from servers.networks.services.port_changes import port_delete, port_update
from servers.networks.services.ports import ports_create


class PortViewSet(OperatorFilters, TaggedViewSet, ReadOnlyModelViewSet[Port]):
    """Ports of the project, and those that others have in its networks; all for admins."""

    policy = {
        "list": "ports:read",
        "retrieve": "ports:read",
        "create": "ports:write",
        "partial_update": "ports:write",
        "destroy": "ports:write",
        "tag": "ports:write",
        "tag_remove": "ports:write",
    }
    tagged_kind = TaggedKind.PORT
    thing = "Port"
    queryset = Port.objects.none()
    serializer_class = PortOutput
    ordering_fields = ["name", "created_at"]
    filters_for = staticmethod(port_filters)

    def get_queryset(self) -> QuerySet[Port]:
        """What the caller may see."""
        return ports_shown(caller_of(self.request))

    def get_serializer_context(self) -> dict[str, Any]:
        """Who asks: hosts are for administrators."""
        return {**super().get_serializer_context(), "caller": caller_of(self.request)}

    def get_object(self) -> Port:
        """The one that the address names."""
        return port_get(caller=caller_of(self.request), port_id=uuid_in_path(self.kwargs["pk"], what=self.thing))

    @extend_schema(request=PortInput, responses={201: PortOutput})
    def create(self, request: Request) -> Response:
        """Makes a port. Without addresses it gets one of each IP version that the network has subnets of."""
        body, caller = PortInput(data=request.data), caller_of(request)
        body.is_valid(raise_exception=True)
        fields = body.typed()
        project_id = owner_of(caller, fields.pop("project", None))
        tags = fields.pop("tags", None)
        wanted = PortRequest(network_id=fields.pop("network"), project_id=project_id, **fields)
        made = self.made(tags, lambda: ports_create(caller=caller, requests=[wanted])[0])
        return self._shown(made, status.HTTP_201_CREATED)

    @extend_schema(request=PortChange, responses=PortOutput)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Changes a port of one's own project. Addresses that are asked for again stay."""
        body = PortChange(data=request.data)
        body.is_valid(raise_exception=True)
        caller, port_id = caller_of(request), uuid_in_path(pk, what=self.thing)
        row = self.changed(body.typed(), lambda changes: port_update(caller=caller, port_id=port_id, changes=changes))
        return self._shown(row)

    def destroy(self, request: Request, pk: str) -> Response:
        """Removes a port that no instance, router or floating address needs."""
        port_delete(caller=caller_of(request), port_id=uuid_in_path(pk, what=self.thing))
        return Response(status=status.HTTP_204_NO_CONTENT)

    def _shown(self, port: Port, code: int = status.HTTP_200_OK) -> Response:
        return Response(self.get_serializer(port_get(caller=None, port_id=port.pk)).data, status=code)
