"""Trying a change of an aggregate, and making it as a whole, under /api/. Here because instances are this app's."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.identity.api.callers import caller_of
from controlplane.infra.api.identifiers import uuid_in_path
from scheduling.api.serializers.aggregates import AggregateOutput
from scheduling.fleet.services.aggregates import aggregate_save
from scheduling.whatif.domain.aggregate_effect import AggregateDraft
from servers.api.serializers.aggregate_trial import AggregateSaveInput, AggregateTrialInput, AggregateTrialOutput
from servers.trials.aggregate_trial import aggregate_trial


class AggregateEffectView(APIView):
    """What a new aggregate would do."""

    policy = {"post": "aggregates:read"}

    @extend_schema(operation_id="aggregate_effect_new", request=AggregateTrialInput, responses=AggregateTrialOutput)
    def post(self, request: Request) -> Response:
        """Hosts that change their zone, instances on them, clashes, and what reads the metadata. Nothing is saved."""
        return _tried(request, None)


class AggregateChangeEffectView(APIView):
    """What a change of an aggregate would do."""

    policy = {"post": "aggregates:read"}

    @extend_schema(operation_id="aggregate_effect", request=AggregateTrialInput, responses=AggregateTrialOutput)
    def post(self, request: Request, pk: str) -> Response:
        """As for a new one; and with `room`, how many more of each flavor fit before and after."""
        return _tried(request, uuid_in_path(pk, what="Aggregate"))


class AggregateSaveView(APIView):
    """An aggregate as a whole."""

    policy = {"post": "aggregates:write"}

    @extend_schema(operation_id="aggregate_save", request=AggregateSaveInput, responses=AggregateOutput)
    def post(self, request: Request, pk: str) -> Response:
        """Name, metadata, hosts in and out: all of it, or nothing."""
        body = AggregateSaveInput(data=request.data)
        body.is_valid(raise_exception=True)
        saved = aggregate_save(aggregate_id=uuid_in_path(pk, what="Aggregate"), **body.validated_data)
        return Response(AggregateOutput(saved).data)


def _tried(request: Request, aggregate_id: UUID | None) -> Response:
    body = AggregateTrialInput(data=request.data)
    body.is_valid(raise_exception=True)
    fields: dict[str, Any] = body.validated_data
    draft = AggregateDraft(
        fields["name"], fields["metadata"], tuple(fields["hosts_added"]), tuple(fields["hosts_removed"])
    )
    answer = aggregate_trial(
        caller=caller_of(request), aggregate_id=aggregate_id, draft=draft, with_room=fields["room"]
    )
    return Response(answer)
