"""Hosts under /api/: reading is the scheduler's; here is what needs their instances and agents, removal and fencing."""

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.identity.api.callers import caller_of
from controlplane.work.control import Operator
from scheduling.api.serializers.fleet import HostOutput, ServiceForceDownInput
from scheduling.api.views.fleet import HostViewSet
from scheduling.fleet.domain.usage_history import SPANS, history_span
from scheduling.fleet.selectors.host_switches import host_switches
from scheduling.fleet.selectors.host_usage import host_history, reality_of_host
from scheduling.fleet.selectors.hosts import host_get
from scheduling.fleet.services.service_states import service_force_down
from servers.api.serializers.host_images import HostImagesOutput
from servers.api.serializers.host_map import (
    HostRoomOutput,
    HostSwitchesOutput,
    HostTopologyOutput,
    host_topology_output,
)
from servers.api.serializers.host_networks import HostNetworksOutput
from servers.api.serializers.host_usage import HostUsageOutput
from servers.api.serializers.hosts import HostRemovalOutput, HostRemovedOutput, HostRemoveInput
from servers.hosts.selectors.contents import removal_preview
from servers.hosts.selectors.images import image_cache_requests, images_on_host
from servers.hosts.selectors.topology import host_topology
from servers.hosts.services.removal import host_remove
from servers.networks.selectors.host_states import host_network_state
from servers.trials.host_room import host_room


class HostLifeViewSet(HostViewSet):
    """Hosts: service, hypervisor, zone, state and promised resources in one; declared dead, and removed."""

    policy = {
        **HostViewSet.policy,
        "destroy": "hosts:write",
        "force_down": "hosts:write",
        "removal": "hosts:read",
        "images": "hosts:read",
        "networks": "hosts:read",
        "usage": "hosts:read",
        "room": "capacity:read",
        "topology": "hosts:read",
        "switches": "hosts:read",
    }

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

    @extend_schema(
        responses=HostUsageOutput, parameters=[OpenApiParameter("span", str, enum=list(SPANS), description="day")]
    )
    @action(detail=True, methods=["get"])
    def usage(self, request: Request, host: str) -> Response:
        """What was promised of it against what it really has, with what does not agree; and how busy it was, by five
        minutes for a day or by the hour for thirty days.
        """
        span = history_span(request.query_params.get("span", "day"))
        shown = host_get(host=host)
        history = host_history(host=shown.host, span=span)
        found = {
            "reality": reality_of_host(shown),
            "span": span.name,
            "step_s": span.step_s,
            "samples": history.samples,
        }
        return Response(HostUsageOutput(found).data)

    @extend_schema(responses=HostImagesOutput)
    @action(detail=True, methods=["get"])
    def images(self, request: Request, host: str) -> Response:
        """The base images in its cache, as it reported last, and those that it was asked to have."""
        known = host_get(host=host).host
        found = {"images": images_on_host(host=known), "requests": image_cache_requests(host=known)}
        return Response(HostImagesOutput(found).data)

    @extend_schema(responses=HostNetworksOutput)
    @action(detail=True, methods=["get"])
    def networks(self, request: Request, host: str) -> Response:
        """How far it is with what it is to have of networks, and what it could not do."""
        return Response(HostNetworksOutput(host_network_state(host_get(host=host).host)).data)

    @extend_schema(responses=HostRoomOutput)
    @action(detail=True, methods=["get"])
    def room(self, request: Request, host: str) -> Response:
        """How many more of each enabled flavor fit on it now, each as if all room went to it; what stops one more."""
        return Response(HostRoomOutput(host_room(caller=caller_of(request), host=host)).data)

    @extend_schema(responses=HostTopologyOutput)
    @action(detail=True, methods=["get"])
    def topology(self, request: Request, host: str) -> Response:
        """Its NUMA cells and PCI devices, and the instances that have them."""
        return Response(host_topology_output(host_topology(host=host_get(host=host))))

    @extend_schema(responses=HostSwitchesOutput)
    @action(detail=True, methods=["get"])
    def switches(self, request: Request, host: str) -> Response:
        """When it was disabled, enabled or declared dead: by whom, why, and for how long."""
        return Response(HostSwitchesOutput({"switches": host_switches(host=host_get(host=host).host)}).data)

    @extend_schema(request=ServiceForceDownInput, responses=HostOutput)
    @action(detail=True, methods=["post"])
    def force_down(self, request: Request, host: str) -> Response:
        """Declare the host dead, or take that back with {"forced_down": false}."""
        body = ServiceForceDownInput(data=request.data)
        body.is_valid(raise_exception=True)
        service_force_down(host=host, **body.validated_data)
        return Response(HostOutput(host_get(host=host)).data)
