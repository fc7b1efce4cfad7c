"""Floating addresses of the caller's project."""

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ReadOnlyModelViewSet

from controlplane.identity.api.callers import caller_of
from controlplane.infra.api.identifiers import uuid_in_path
from servers.api.serializers.routers import FloatingIPChangeInput, FloatingIPInput, FloatingIPOutput
from servers.api.views.tags import TaggedViewSet
from servers.filtersets_network import FloatingIPFilterSet
from servers.models import FloatingIP
from servers.networks.selectors.floating_ips import floating_ip_get, floating_ips_visible
from servers.networks.selectors.tags import TaggedKind
from servers.networks.services.floating_ips import floating_ip_create, floating_ip_delete, floating_ip_update


class FloatingIPViewSet(TaggedViewSet, ReadOnlyModelViewSet[FloatingIP]):
    """Addresses of external networks, each of which stands for an address of a port."""

    policy = {
        "list": "floating_ips:read",
        "retrieve": "floating_ips:read",
        "create": "floating_ips:write",
        "partial_update": "floating_ips:write",
        "destroy": "floating_ips:write",
        "tag": "floating_ips:write",
        "tag_remove": "floating_ips:write",
    }
    tagged_kind = TaggedKind.FLOATING_IP
    thing = "Floating address"
    queryset = FloatingIP.objects.none()
    serializer_class = FloatingIPOutput
    filterset_class = FloatingIPFilterSet
    ordering_fields = ["address", "created_at"]

    def get_queryset(self) -> QuerySet[FloatingIP]:
        """What the caller may see."""
        return floating_ips_visible(caller=caller_of(self.request))

    def get_object(self) -> FloatingIP:
        """The one that the address names."""
        floating_ip_id = uuid_in_path(self.kwargs["pk"], what=self.thing)
        return floating_ip_get(caller=caller_of(self.request), floating_ip_id=floating_ip_id)

    @extend_schema(request=FloatingIPInput, responses={201: FloatingIPOutput})
    def create(self, request: Request) -> Response:
        """Takes an address, and puts it before a port where one is named."""
        body = FloatingIPInput(data=request.data)
        body.is_valid(raise_exception=True)
        values, caller = body.validated_data, caller_of(request)
        made = self.made(
            values.get("tags"),
            lambda: floating_ip_create(
                caller=caller,
                network_id=values["network"],
                address=values.get("address", ""),
                description=values.get("description", ""),
                target=body.target(),
                project_id=values.get("project"),
            ),
        )
        return Response(FloatingIPOutput(made).data, status=status.HTTP_201_CREATED)

    @extend_schema(request=FloatingIPChangeInput, responses=FloatingIPOutput)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Puts it before another port, or with `port` null before none."""
        body = FloatingIPChangeInput(data=request.data)
        body.is_valid(raise_exception=True)
        caller, floating_ip_id = caller_of(request), uuid_in_path(pk, what=self.thing)
        row = self.changed(
            dict(body.validated_data),
            lambda changes: floating_ip_update(
                caller=caller,
                floating_ip_id=floating_ip_id,
                description=changes.get("description"),
                moves="port" in changes,
                target=body.target(),
            ),
        )
        return Response(FloatingIPOutput(row).data)

    def destroy(self, request: Request, pk: str) -> Response:
        """Gives it back, from whatever it stood for."""
        floating_ip_delete(caller=caller_of(request), floating_ip_id=uuid_in_path(pk, what=self.thing))
        return Response(status=status.HTTP_204_NO_CONTENT)
