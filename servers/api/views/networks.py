"""Networks and their subnets."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ReadOnlyModelViewSet

from computeagent.protocol.networks import NetworkBackendKind
from controlplane.identity.api.callers import caller_of
from controlplane.infra.api.identifiers import uuid_in_path
from servers.api.serializers.networks import (
    NetworkChange,
    NetworkInput,
    NetworkOutput,
    SubnetChange,
    SubnetInput,
    SubnetOutput,
)
from servers.api.views.tags import TaggedViewSet
from servers.filtersets_network import NetworkFilterSet, SubnetFilterSet
from servers.models import Network, Subnet
from servers.networks.domain.networks import NetworkRequest
from servers.networks.domain.subnets import SubnetRequest
from servers.networks.selectors.networks import network_get, networks_visible
from servers.networks.selectors.subnets import subnet_get, subnets_shown
from servers.networks.selectors.tags import TaggedKind
from servers.networks.services.networks import network_create, network_delete, network_update
from servers.networks.services.subnets import subnet_create, subnet_delete, subnet_update


class NetworkViewSet(TaggedViewSet, ReadOnlyModelViewSet[Network]):
    """The project's own networks, and shared and external ones; all for admins."""

    policy = {
        "list": "networks:read",
        "retrieve": "networks:read",
        "create": "networks:write",
        "partial_update": "networks:write",
        "destroy": "networks:write",
        "tag": "networks:write",
        "tag_remove": "networks:write",
    }
    tagged_kind = TaggedKind.NETWORK
    thing = "Network"
    queryset = Network.objects.none()
    serializer_class = NetworkOutput
    filterset_class = NetworkFilterSet
    ordering_fields = ["name", "created_at"]

    def get_queryset(self) -> QuerySet[Network]:
        """What the caller may see."""
        return networks_visible(caller_of(self.request)).prefetch_related("subnets")

    def get_serializer_context(self) -> dict[str, Any]:
        """Who asks: hypervisors' names are for administrators."""
        return {**super().get_serializer_context(), "caller": caller_of(self.request)}

    def get_object(self) -> Network:
        """The one that the address names."""
        network_id = uuid_in_path(self.kwargs["pk"], what=self.thing)
        return network_get(caller=caller_of(self.request), network_id=network_id)

    @extend_schema(request=NetworkInput, responses={201: NetworkOutput})
    def create(self, request: Request) -> Response:
        """Makes a network without subnets, of the kind that the installation has for projects."""
        body, caller = NetworkInput(data=request.data), caller_of(request)
        body.is_valid(raise_exception=True)
        fields: dict[str, Any] = dict(body.validated_data)
        project_id = fields.pop("project", caller.project_id)
        if "kind" in fields:
            fields["kind"] = NetworkBackendKind(fields["kind"])
        tags = fields.pop("tags", None)
        wanted = NetworkRequest(project_id=project_id, **fields)
        network = self.made(tags, lambda: network_create(caller=caller, request=wanted))
        return Response(self.get_serializer(network).data, status=status.HTTP_201_CREATED)

    @extend_schema(request=NetworkChange, responses=NetworkOutput)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Changes the network of one's own project; admins any."""
        body = NetworkChange(data=request.data)
        body.is_valid(raise_exception=True)
        caller, network_id = caller_of(request), uuid_in_path(pk, what=self.thing)
        network = self.changed(
            dict(body.validated_data),
            lambda changes: network_update(caller=caller, network_id=network_id, changes=changes),
        )
        return Response(self.get_serializer(network).data)

    def destroy(self, request: Request, pk: str) -> Response:
        """Removes a network with its subnets, once no port is in it."""
        network_delete(caller=caller_of(request), network_id=uuid_in_path(pk, what=self.thing))
        return Response(status=status.HTTP_204_NO_CONTENT)


class SubnetViewSet(TaggedViewSet, ReadOnlyModelViewSet[Subnet]):
    """Subnets of the project's own networks and of shared ones; all for admins."""

    policy = {
        "list": "networks:read",
        "retrieve": "networks:read",
        "create": "networks:write",
        "partial_update": "networks:write",
        "destroy": "networks:write",
        "tag": "networks:write",
        "tag_remove": "networks:write",
    }
    tagged_kind = TaggedKind.SUBNET
    thing = "Subnet"
    queryset = Subnet.objects.none()
    serializer_class = SubnetOutput
    filterset_class = SubnetFilterSet
    ordering_fields = ["name", "created_at"]

    def get_queryset(self) -> QuerySet[Subnet]:
        """What the caller may see."""
        return subnets_shown(caller_of(self.request))

    def get_object(self) -> Subnet:
        """The one that the address names."""
        subnet_id = uuid_in_path(self.kwargs["pk"], what=self.thing)
        return subnet_get(caller=caller_of(self.request), subnet_id=subnet_id)

    @extend_schema(request=SubnetInput, responses={201: SubnetOutput})
    def create(self, request: Request) -> Response:
        """Makes a subnet of a network of one's own project; admins of any."""
        body = SubnetInput(data=request.data)
        body.is_valid(raise_exception=True)
        fields, caller = body.typed(), caller_of(request)
        tags = fields.pop("tags", None)
        wanted = SubnetRequest(network_id=fields.pop("network"), **fields)
        made = self.made(tags, lambda: subnet_create(caller=caller, request=wanted))
        return self._shown(made, status.HTTP_201_CREATED)

    @extend_schema(request=SubnetChange, responses=SubnetOutput)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Changes a subnet. Addresses that ports have, they keep."""
        body = SubnetChange(data=request.data)
        body.is_valid(raise_exception=True)
        caller, subnet_id = caller_of(request), uuid_in_path(pk, what=self.thing)
        row = self.changed(
            body.typed(), lambda changes: subnet_update(caller=caller, subnet_id=subnet_id, changes=changes)
        )
        return self._shown(row)

    def destroy(self, request: Request, pk: str) -> Response:
        """Removes a subnet that no port has an address of."""
        subnet_delete(caller=caller_of(request), subnet_id=uuid_in_path(pk, what=self.thing))
        return Response(status=status.HTTP_204_NO_CONTENT)

    def _shown(self, subnet: Subnet, code: int = status.HTTP_200_OK) -> Response:
        row = subnet_get(caller=None, subnet_id=subnet.pk)
        return Response(self.get_serializer(row).data, status=code)
