"""Hosts under /api/: reading is the scheduler's; here is what needs their instances and agents, removal and fencing."""

from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.identity.api.callers import caller_of
from controlplane.work.control import Operator
from scheduling.api.serializers.fleet import HostOutput, ServiceForceDownInput
from scheduling.api.views.fleet import HostViewSet
from scheduling.fleet.selectors.hosts import host_get
from scheduling.fleet.services.service_states import service_force_down
from servers.api.serializers.hosts import HostRemovalOutput, HostRemovedOutput, HostRemoveInput
from servers.hosts.selectors.contents import removal_preview
from servers.hosts.services.removal import host_remove


class HostLifeViewSet(HostViewSet):
    """Hosts: service, hypervisor, zone, state and promised resources in one; declared dead, and removed."""

    policy = {**HostViewSet.policy, "destroy": "hosts:write", "force_down": "hosts:write", "removal": "hosts:read"}

    @extend_schema(parameters=[HostRemoveInput], responses=HostRemovedOutput)
    def destroy(self, request: Request, host: str) -> Response:
        """Remove the host with all that is known of it. 409 with the reasons while something hangs on it; `?force=true`
        removes one that is forced down nevertheless, and the answer lists what it leaves.
        """
        query = HostRemoveInput(data=request.query_params.dict())
        query.is_valid(raise_exception=True)
        caller = caller_of(request)
        operator = Operator(user_id=caller.user_id, name=caller.username)
        return Response(HostRemovedOutput(host_remove(host=host, operator=operator, **query.validated_data)).data)

    @extend_schema(responses=HostRemovalOutput)
    @action(detail=True, methods=["get"])
    def removal(self, request: Request, host: str) -> Response:
        """What stands in the way of removing it, with and without force, and what force would leave."""
        return Response(HostRemovalOutput(removal_preview(host=host)).data)

    @extend_schema(request=ServiceForceDownInput, responses=HostOutput)
    @action(detail=True, methods=["post"])
    def force_down(self, request: Request, host: str) -> Response:
        """Declare the host dead, or take that back with {"forced_down": false}."""
        body = ServiceForceDownInput(data=request.data)
        body.is_valid(raise_exception=True)
        service_force_down(host=host, **body.validated_data)
        return Response(HostOutput(host_get(host=host)).data)
