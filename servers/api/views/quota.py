"""The quota of the caller's project."""

from dataclasses import asdict

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.identity.api.callers import caller_of
from controlplane.identity.selectors import quota_limits
from servers.api.serializers.catalog import QuotaOutput
from servers.catalog.selectors.quota import image_quota_usage, quota_usage


class QuotaView(APIView):
    """Limits and what is in use. A limit of -1 means unlimited."""

    policy = {"get": "quotas:read"}

    @extend_schema(responses=QuotaOutput)
    def get(self, request: Request) -> Response:
        """The project's limits and what it uses, counted now."""
        project_id = caller_of(request).project_id
        used, images = quota_usage(project_id=project_id), image_quota_usage(project_id=project_id)
        shown = {
            "project_id": project_id,
            "limits": quota_limits(project_id=project_id),
            "used": asdict(used) | asdict(images),
        }
        return Response(QuotaOutput(shown).data)
