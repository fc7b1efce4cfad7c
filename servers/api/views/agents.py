"""Hypervisors' agents under /api/: one-time tokens by which they enrol, and their secrets."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.mixins import ListModelMixin
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet, ViewSet

from controlplane.identity.api.callers import caller_of
from servers.agent_api.credentials import (
    credential_of_host,
    credential_revoke,
    enrolment_command,
    enrolment_create,
)
from servers.api.serializers.agents import AgentOutput, EnrolmentInput, EnrolmentOutput
from servers.filtersets import AgentFilterSet
from servers.models import AgentCredential


class EnrolmentViewSet(ViewSet):
    """Tokens by which the agent of one host gets a secret of its own."""

    policy = {"create": "hosts:write"}

    @extend_schema(request=EnrolmentInput, responses={201: EnrolmentOutput})
    def create(self, request: Request) -> Response:
        """A token that works once, for an hour, for that host alone. It is told here and stored nowhere."""
        body = EnrolmentInput(data=request.data)
        body.is_valid(raise_exception=True)
        enrolment = enrolment_create(host=body.validated_data["host"], user_id=caller_of(request).user_id)
        url = request.build_absolute_uri("/").rstrip("/")
        shown: dict[str, Any] = {
            "host": enrolment.host,
            "token": enrolment.token,
            "expires_at": enrolment.expires_at,
            "command": enrolment_command(enrolment, url),
        }
        return Response(EnrolmentOutput(shown).data, status=201)


class AgentViewSet(ListModelMixin, GenericViewSet[AgentCredential]):
    """The agents that have a secret, by host."""

    policy = {"list": "hosts:read", "revoke": "hosts:write"}
    queryset = AgentCredential.objects.all()
    serializer_class = AgentOutput
    filterset_class = AgentFilterSet
    lookup_field = "host"
    lookup_value_regex = "[^/]+"
    ordering_fields = ["host", "enrolled_at", "rotated_at", "revoked_at"]

    @extend_schema(request=None, responses=AgentOutput)
    @action(detail=True, methods=["post"])
    def revoke(self, request: Request, host: str) -> Response:
        """Lock the agent of this host out at once, and end tokens for it. Guests go on; it may be enrolled again."""
        credential_revoke(host=host, user_id=caller_of(request).user_id)
        row = credential_of_host(host) or AgentCredential(host=host)  # a token that nobody used was all there was
        return Response(AgentOutput(row).data)
