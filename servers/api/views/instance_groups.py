"""Security groups of an instance: those of its ports together."""

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.identity.api.callers import caller_of
from controlplane.infra.api.identifiers import uuid_in_path
from servers.api.serializers.security_groups import InstanceGroupInput, SecurityGroupOutput
from servers.instances.selectors.instances import instance_get
from servers.models import Instance
from servers.networks.selectors.groups import groups_of_instance
from servers.networks.services.instance_groups import instance_group_add, instance_group_remove


class InstanceGroupsView(APIView):
    """Which groups the ports of an instance are in."""

    policy = {"get": "security_groups:read", "post": "security_groups:write"}

    @extend_schema(operation_id="instances_security_groups_list", responses=SecurityGroupOutput(many=True))
    def get(self, request: Request, pk: str) -> Response:
        """Lists them, each once."""
        instance = _instance(request, pk)
        return Response(SecurityGroupOutput(groups_of_instance(instance_uuid=instance.pk), many=True).data)

    @extend_schema(request=InstanceGroupInput, responses={200: SecurityGroupOutput})
    def post(self, request: Request, pk: str) -> Response:
        """Puts all ports of the instance into a group of its project."""
        body = InstanceGroupInput(data=request.data)
        body.is_valid(raise_exception=True)
        instance = _instance(request, pk)
        group = instance_group_add(
            project_id=instance.project_id, instance_uuid=instance.pk, group=body.validated_data["group"]
        )
        return Response(SecurityGroupOutput(group).data)


class InstanceGroupView(APIView):
    """One of them."""

    policy = {"delete": "security_groups:write"}

    @extend_schema(request=None, responses={204: None})
    def delete(self, request: Request, pk: str, group: str) -> Response:
        """Takes all ports of the instance out of the group, named by id or name."""
        instance = _instance(request, pk)
        instance_group_remove(project_id=instance.project_id, instance_uuid=instance.pk, group=group)
        return Response(status=status.HTTP_204_NO_CONTENT)


def _instance(request: Request, pk: str) -> Instance:
    return instance_get(caller=caller_of(request), instance_id=uuid_in_path(pk, what="Instance"))
