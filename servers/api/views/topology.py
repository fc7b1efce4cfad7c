"""What hangs on a network or a router."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.identity.api.callers import caller_of
from controlplane.infra.api.identifiers import uuid_in_path
from servers.api.serializers.topology import TopologyOutput, topology_output
from servers.networks.selectors.network_topology import network_topology, router_topology
from servers.networks.selectors.networks import network_get
from servers.networks.selectors.routers import router_get
from servers.networks.selectors.subnets import subnets_in


class NetworkTopologyView(APIView):
    """As the network's page draws it."""

    policy = {"get": "networks:read"}

    @extend_schema(operation_id="networks_topology", responses=TopologyOutput)
    def get(self, request: Request, pk: str) -> Response:
        """Says what the network hangs on, and up to 200 routers and guests on it."""
        network_id = uuid_in_path(pk, what="Network")
        caller = caller_of(request)
        network = network_get(caller=caller, network_id=network_id)
        subnets = subnets_in(caller, network.pk)
        return Response(topology_output(network_topology(caller=caller, network=network, subnets=subnets)))


class RouterTopologyView(APIView):
    """As the router's page draws it."""

    policy = {"get": "routers:read"}

    @extend_schema(operation_id="routers_topology", responses=TopologyOutput)
    def get(self, request: Request, pk: str) -> Response:
        """Says what the router leads to, and up to 200 networks that it joins."""
        router_id = uuid_in_path(pk, what="Router")
        router = router_get(caller=caller_of(request), router_id=router_id)
        return Response(topology_output(router_topology(router)))
