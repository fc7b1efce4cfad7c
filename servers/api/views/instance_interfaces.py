"""Interfaces of an instance: list, add, remove."""

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.identity.api.callers import caller_of
from controlplane.infra.api.identifiers import uuid_in_path
from servers.api.serializers.interfaces import InterfaceInput, InterfaceOutput
from servers.instances.actions.interfaces import ATTACH_INTERFACE, DETACH_INTERFACE
from servers.instances.selectors.instances import instance_get
from servers.instances.selectors.interfaces import instance_interfaces
from servers.instances.services.act import instance_act
from servers.models import Instance


class InstanceInterfaces:
    """Actions of `InstanceViewSet`."""

    policy = {
        "interfaces": "instances:read",
        "interface_add": ATTACH_INTERFACE.policy,
        "interface_remove": DETACH_INTERFACE.policy,
    }

    @extend_schema(responses=InterfaceOutput(many=True))
    @action(detail=True, methods=["get"], pagination_class=None, filter_backends=())
    def interfaces(self, request: Request, pk: str) -> Response:
        """Its network cards, in their order; none before it has a host."""
        return _interfaces(instance_get(caller=caller_of(request), instance_id=uuid_in_path(pk, what="Instance")))

    @extend_schema(request=InterfaceInput, responses={202: InterfaceOutput(many=True)})
    @interfaces.mapping.post
    def interface_add(self, request: Request, pk: str) -> Response:
        """Adds one, of a network or of a port that is there: 202 with all of them; its host is asked now."""
        body = InterfaceInput(data=request.data)
        body.is_valid(raise_exception=True)
        arguments = {**body.validated_data, "security_groups": ",".join(body.validated_data["security_groups"])}
        changed = instance_act(
            caller=caller_of(request),
            instance_id=uuid_in_path(pk, what="Instance"),
            action=ATTACH_INTERFACE.name,
            arguments={name: value for name, value in arguments.items() if value},
        )
        return _interfaces(changed, status.HTTP_202_ACCEPTED)

    @extend_schema(responses={202: None})
    @action(detail=True, methods=["delete"], url_path="interfaces/(?P<port>[^/]+)")
    def interface_remove(self, request: Request, pk: str, port: str) -> Response:
        """Takes the one of this port away: 202; it is gone when the guest has let go of it."""
        instance_act(
            caller=caller_of(request),
            instance_id=uuid_in_path(pk, what="Instance"),
            action=DETACH_INTERFACE.name,
            arguments={"port": str(uuid_in_path(port, what="Interface"))},
        )
        return Response(status=status.HTTP_202_ACCEPTED)


def _interfaces(instance: Instance, code: int = status.HTTP_200_OK) -> Response:
    found = instance_interfaces([instance]).get(instance.pk, ())
    return Response(InterfaceOutput(found, many=True).data, status=code)  # type: ignore[arg-type]  # many
