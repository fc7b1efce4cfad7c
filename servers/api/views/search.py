"""The search over everything."""

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.identity.api.callers import caller_of
from servers.api.serializers.search import SearchOutput
from servers.search.selectors import search


class SearchView(APIView):
    """`?q=`: an id or its beginning, the id of a request, an address, or a part of a name."""

    policy = {"get": "me:read"}

    @extend_schema(parameters=[OpenApiParameter("q", OpenApiTypes.STR, required=True)], responses=SearchOutput)
    def get(self, request: Request) -> Response:
        """The first of each kind that the caller may see; `more_of` names the kinds of which there is more."""
        result = search(caller=caller_of(request), text=request.query_params.get("q", ""))
        return Response(SearchOutput(result).data)
