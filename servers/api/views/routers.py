"""Routers of the caller's project."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ReadOnlyModelViewSet

from controlplane.identity.api.callers import caller_of
from controlplane.identity.api.operator_filters import OperatorFilters
from controlplane.infra.api.identifiers import uuid_in_path
from servers.api.serializers.routers import (
    RouterChangeInput,
    RouterInput,
    RouterInterfaceInput,
    RouterMoveInput,
    RouterOutput,
)
from servers.api.views.tags import TaggedViewSet
from servers.filtersets_network import router_filters
from servers.models import Router
from servers.networks.selectors.routers import router_get, routers_visible
from servers.networks.selectors.tags import TaggedKind
from servers.networks.services.router_hosts import router_move
from servers.networks.services.router_legs import router_interface_add, router_interface_remove
from servers.networks.services.routers import router_create, router_delete, router_update


class RouterViewSet(OperatorFilters, TaggedViewSet, ReadOnlyModelViewSet[Router]):
    """They join subnets with one another and, by their gateways, with external networks."""

    policy = {
        "list": "routers:read",
        "retrieve": "routers:read",
        "create": "routers:write",
        "partial_update": "routers:write",
        "destroy": "routers:write",
        "tag": "routers:write",
        "tag_remove": "routers:write",
        "add_interface": "routers:write",
        "remove_interface": "routers:write",
        "move": "routers:move",
    }
    tagged_kind = TaggedKind.ROUTER
    thing = "Router"
    queryset = Router.objects.none()
    serializer_class = RouterOutput
    ordering_fields = ["name", "created_at"]
    filters_for = staticmethod(router_filters)

    def get_queryset(self) -> QuerySet[Router]:
        """What the caller may see."""
        return routers_visible(caller=caller_of(self.request))

    def get_object(self) -> Router:
        """The one that the address names."""
        return router_get(caller=caller_of(self.request), router_id=uuid_in_path(self.kwargs["pk"], what=self.thing))

    def get_serializer_context(self) -> dict[str, Any]:
        """With who asks: hosts are for admins to see."""
        return {**super().get_serializer_context(), "caller": getattr(self.request, "auth", None)}

    def _answer(self, router: Router, code: int = status.HTTP_200_OK) -> Response:
        return Response(RouterOutput(router, context=self.get_serializer_context()).data, status=code)

    @extend_schema(request=RouterInput, responses={201: RouterOutput})
    def create(self, request: Request) -> Response:
        """Makes a router, with a gateway where an external network is named."""
        body = RouterInput(data=request.data)
        body.is_valid(raise_exception=True)
        fields, caller = dict(body.validated_data), caller_of(request)
        fields["project_id"] = fields.pop("project", None)
        made = self.made(fields.pop("tags", None), lambda: router_create(caller=caller, **fields))
        return self._answer(made, status.HTTP_201_CREATED)

    @extend_schema(request=RouterChangeInput, responses=RouterOutput)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Changes what is named: also the gateway, SNAT and static routes."""
        body = RouterChangeInput(data=request.data, partial=True)
        body.is_valid(raise_exception=True)
        caller, router_id = caller_of(request), uuid_in_path(pk, what=self.thing)
        row = self.changed(
            dict(body.validated_data),
            lambda changes: router_update(caller=caller, router_id=router_id, changes=changes),
        )
        return self._answer(row)

    def destroy(self, request: Request, pk: str) -> Response:
        """Removes a router that has no interfaces."""
        router_delete(caller=caller_of(request), router_id=uuid_in_path(pk, what=self.thing))
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(request=RouterInterfaceInput, responses=RouterOutput)
    @action(detail=True, methods=["post"], url_path="add-interface")
    def add_interface(self, request: Request, pk: str) -> Response:
        """Joins a subnet at its gateway's address, or with a port."""
        return self._interface(request, pk, router_interface_add)

    @extend_schema(request=RouterInterfaceInput, responses=RouterOutput)
    @action(detail=True, methods=["post"], url_path="remove-interface")
    def remove_interface(self, request: Request, pk: str) -> Response:
        """Leaves a subnet; its port goes."""
        return self._interface(request, pk, router_interface_remove)

    def _interface(self, request: Request, pk: str, service: Any) -> Response:
        body = RouterInterfaceInput(data=request.data)
        body.is_valid(raise_exception=True)
        caller, router_id = caller_of(request), uuid_in_path(pk, what=self.thing)
        service(
            caller=caller,
            router_id=router_id,
            subnet_id=body.validated_data.get("subnet"),
            port_id=body.validated_data.get("port"),
        )
        return self._answer(router_get(caller=caller, router_id=router_id))

    @extend_schema(request=RouterMoveInput, responses=RouterOutput)
    @action(detail=True, methods=["post"])
    def move(self, request: Request, pk: str) -> Response:
        """Moves a router of bridges to another host; the connections that it keeps track of end."""
        body = RouterMoveInput(data=request.data)
        body.is_valid(raise_exception=True)
        router_id = uuid_in_path(pk, what=self.thing)
        return self._answer(
            router_move(caller=caller_of(request), router_id=router_id, host=body.validated_data.get("host", ""))
        )
