"""The quota of the caller's project."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.identity.api.callers import caller_of
from servers.api.serializers.catalog import QuotaOutput
from servers.catalog.selectors.quota import quota_limit_amounts, quota_usage


class QuotaView(APIView):
    """Limits and what is in use. A limit of -1 means unlimited."""

    policy = {"get": "quotas:read"}

    @extend_schema(responses=QuotaOutput)
    def get(self, request: Request) -> Response:
        """Counted now."""
        project_id = caller_of(request).project_id
        shown = {
            "project_id": project_id,
            "limits": quota_limit_amounts(project_id=project_id),
            "used": quota_usage(project_id=project_id),
        }
        return Response(QuotaOutput(shown).data)
