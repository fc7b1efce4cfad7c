"""The map of the fleet under /api/."""

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.identity.api.callers import caller_of
from scheduling.filtersets import HostFilterSet
from scheduling.fleet.domain.fleet_map import Grouping, Heat
from servers.api.serializers.host_map import FleetMapOutput, fleet_map_output
from servers.hosts.selectors.fleet_map import fleet_map, map_wanted

OWN = ("heat", "group", "flavor")


class FleetMapView(APIView):
    """All compute nodes in groups, each with its size, its state and one measure."""

    policy = {"get": "hosts:read"}

    @extend_schema(
        operation_id="fleet_map",
        responses=FleetMapOutput,
        parameters=[
            OpenApiParameter("heat", str, enum=[one.value for one in Heat], description="memory; fits with a flavor."),
            OpenApiParameter("group", str, enum=[one.value for one in Grouping], description="zone"),
            OpenApiParameter("flavor", str, description="Id or name: how many more of it fit on each."),
            *(OpenApiParameter(name, str, description="As of /api/hosts/.") for name in HostFilterSet.base_filters),
        ],
    )
    def get(self, request: Request) -> Response:
        """A constant number of queries; not paged, since a map is whole."""
        asked = request.query_params.dict()
        filters = {name: value for name, value in asked.items() if name not in OWN}
        wanted = map_wanted(asked.get("heat", ""), asked.get("group", ""), asked.get("flavor", ""), filters)
        return Response(fleet_map_output(fleet_map(caller=caller_of(request), wanted=wanted)))
