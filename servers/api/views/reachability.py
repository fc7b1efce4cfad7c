"""Who can reach a port, and why not."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.identity.api.callers import caller_of
from controlplane.infra.api.identifiers import uuid_in_path
from servers.api.serializers.reachability import ReachabilityOutput, ReachabilityQuery
from servers.networks.selectors.reachability import port_reachability


class PortReachabilityView(APIView):
    """Nothing is sent: the answer is what rules, routes and states say."""

    policy = {"get": "reachability:read"}

    @extend_schema(operation_id="ports_reachability", parameters=[ReachabilityQuery], responses=ReachabilityOutput)
    def get(self, request: Request, pk: str) -> Response:
        """Says whether the source reaches the port, link by link, and what would open what is closed."""
        asked = ReachabilityQuery(data=request.query_params.dict())
        asked.is_valid(raise_exception=True)
        values = asked.validated_data
        found = port_reachability(
            caller=caller_of(request),
            port_id=uuid_in_path(pk, what="Port"),
            source=values["from"],
            protocol=values["protocol"],
            port=values.get("port"),
        )
        return Response(ReachabilityOutput(found).data)
