"""Scheduling decisions: list, whole, and "why not host X?"."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from controlplane.identity.api.callers import caller_of
from controlplane.identity.api.operator_filters import OperatorFilters
from controlplane.kernel.errors import Invalid, NotFound
from controlplane.kernel.ids import parse_uuid
from scheduling.api.serializers.decisions import DecisionDetailOutput, DecisionOutput, ReplayOutput
from scheduling.decisions.selectors.decisions import decision_get, decision_list, decision_why_not
from scheduling.decisions.selectors.report import explanation_report
from scheduling.decisions.services.replay import decision_replay
from scheduling.filtersets_decision import decision_filters
from scheduling.models import SchedulingDecision


class DecisionViewSet(OperatorFilters, GenericViewSet[SchedulingDecision]):
    """Decisions of the caller's project; admins see all, with hosts, numbers and scores."""

    policy = {
        "list": "decisions:read",
        "retrieve": "decisions:read",
        "why_not": "decisions:read_all",
        "replay": "decisions:read_all",
    }
    queryset = SchedulingDecision.objects.none()
    serializer_class = DecisionOutput
    lookup_value_regex = "[0-9a-fA-F-]{32,36}"
    ordering_fields = ["created_at", "duration_us", "host_count", "instance_count"]
    filters_for = staticmethod(decision_filters)

    def get_queryset(self) -> QuerySet[SchedulingDecision]:
        """What the caller may see."""
        if getattr(self, "swagger_fake_view", False):
            return super().get_queryset()
        return decision_list(caller=caller_of(self.request))

    def list(self, request: Request) -> Response:
        """Decisions that the caller may see, the newest first."""
        page = self.paginate_queryset(self.filter_queryset(self.get_queryset()))
        return self.get_paginated_response(DecisionOutput(page, many=True, context=_context(request)).data)

    @extend_schema(
        responses=DecisionDetailOutput,
        parameters=[OpenApiParameter("round", OpenApiTypes.INT, description="Whose scores to show, from 1.")],
    )
    def retrieve(self, request: Request, pk: str) -> Response:
        """One decision with stages, reasons by host and the score table."""
        context = {**_context(request), "round": _round(request)}
        return Response(DecisionDetailOutput(_decision(request, pk), context=context).data)

    @extend_schema(
        responses=OpenApiTypes.OBJECT,
        parameters=[OpenApiParameter("host", OpenApiTypes.STR, required=True, description="A host or node.")],
    )
    @action(detail=True, methods=["get"], url_path="why-not")
    def why_not(self, request: Request, pk: str) -> Response:
        """Why this host was not chosen, or that it was."""
        host = request.query_params.get("host", "").strip()
        if not host or len(host) > 255:
            raise Invalid("Say which host: ?host=NAME.", field="host")
        explanation = decision_why_not(decision=_decision(request, pk), host=host)
        return Response(explanation_report(explanation))

    @extend_schema(responses=ReplayOutput, request=None)
    @action(detail=True, methods=["post"])
    def replay(self, request: Request, pk: str) -> Response:
        """Run it again on the fleet that it saw, and say whether the answer is the same. Claims nothing."""
        report = decision_replay(caller=caller_of(request), decision_id=_decision_id(pk))
        return Response(ReplayOutput(report).data)


def _decision(request: Request, pk: str) -> SchedulingDecision:
    return decision_get(caller=caller_of(request), decision_id=_decision_id(pk))


def _decision_id(pk: str) -> UUID:
    decision_id = parse_uuid(pk)
    if decision_id is None:
        raise NotFound(f"There is no decision {pk[:80]}.")
    return decision_id


def _context(request: Request) -> dict[str, Any]:
    return {"shows_hosts": caller_of(request).sees_all}


def _round(request: Request) -> int:
    raw = request.query_params.get("round", "1")
    if not raw.isdecimal() or not 1 <= int(raw) <= 10_000:
        raise Invalid("round is a whole number from 1 to 10000.", field="round")
    return int(raw)
