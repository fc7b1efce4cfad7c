"""Policies of the scheduler: drafts, their validation and preview, activation, roll back, shadow."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.mixins import ListModelMixin, RetrieveModelMixin
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from controlplane.identity.api.callers import caller_of
from controlplane.infra.api.identifiers import uuid_in_path
from scheduling.api.serializers.policies import (
    PolicyChange,
    PolicyInput,
    PolicyOutput,
    PolicyVerdictOutput,
    PreviewInput,
    PreviewOutput,
    ReplacesInput,
    ShadowReportOutput,
    ShadowResultOutput,
    ShareInput,
)
from scheduling.filtersets import PolicyFilterSet, ShadowResultFilterSet
from scheduling.models import SchedulerPolicy, ShadowResult
from scheduling.policies.selectors.policies import policy_get, policy_list
from scheduling.policies.selectors.preview import policy_preview
from scheduling.policies.selectors.shadow import shadow_report, shadow_results
from scheduling.policies.services.policies import (
    ANYONE,
    Anyone,
    policy_activate,
    policy_create,
    policy_delete,
    policy_retire,
    policy_rollback,
    policy_shadow_end,
    policy_shadow_start,
    policy_update,
    policy_validate,
)

READ, WRITE = "policies:read", "policies:write"


class PolicyViewSet(ListModelMixin, RetrieveModelMixin, GenericViewSet[SchedulerPolicy]):
    """Versions of the scheduler's policy. What decided or ran as shadow is immutable and never changes."""

    policy = {
        "list": READ,
        "retrieve": READ,
        "preview": READ,
        "shadow_report": READ,
        "shadow_results": READ,
        "create": WRITE,
        "partial_update": WRITE,
        "destroy": WRITE,
        "validate": WRITE,
        "activate": WRITE,
        "rollback": WRITE,
        "rollback_last": WRITE,
        "retire": WRITE,
        "shadow": WRITE,
        "shadow_end": WRITE,
    }
    queryset = SchedulerPolicy.objects.none()
    serializer_class = PolicyOutput
    filterset_class = PolicyFilterSet
    lookup_value_regex = "[0-9a-fA-F-]{32,36}"
    ordering_fields = ["name", "version", "created_at", "activated_at"]

    def get_queryset(self) -> QuerySet[Any]:
        """All versions; the results of one where these are asked for."""
        if self.action != "shadow_results":
            return policy_list()
        return shadow_results(policy_id=uuid_in_path(self.kwargs["pk"], what="Policy"))

    @extend_schema(request=PolicyInput, responses={201: PolicyOutput})
    def create(self, request: Request) -> Response:
        """A new draft: the next version under its name."""
        body = PolicyInput(data=request.data)
        body.is_valid(raise_exception=True)
        given = body.validated_data
        source = policy_get(policy_id=given["copy_of"]).body if "copy_of" in given else given.get("body", {})
        made = policy_create(
            body=source, name=given["name"], comment=given["comment"], author=caller_of(request).username
        )
        return Response(PolicyOutput(made).data, status=status.HTTP_201_CREATED)

    @extend_schema(request=PolicyChange, responses=PolicyOutput)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Change a version that is not immutable; another body makes it a draft again. 409 if it is immutable."""
        body = PolicyChange(data=request.data)
        body.is_valid(raise_exception=True)
        return Response(
            PolicyOutput(policy_update(policy_id=uuid_in_path(pk, what="Policy"), **body.validated_data)).data
        )

    def destroy(self, request: Request, pk: str) -> Response:
        """Delete a version that is not immutable."""
        policy_delete(policy_id=uuid_in_path(pk, what="Policy"))
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(request=None, responses=PolicyVerdictOutput)
    @action(detail=True, methods=["post"])
    def validate(self, request: Request, pk: str) -> Response:
        """Every problem by field; a draft without any becomes validated. 200 whether or not it is valid."""
        return Response(PolicyVerdictOutput(policy_validate(policy_id=uuid_in_path(pk, what="Policy"))).data)

    @extend_schema(request=PreviewInput, responses=PreviewOutput)
    @action(detail=True, methods=["post"])
    def preview(self, request: Request, pk: str) -> Response:
        """Run the last requests under this version, on the fleets they saw or, where those are gone, on the present."""
        body = PreviewInput(data=request.data)
        body.is_valid(raise_exception=True)
        return Response(
            PreviewOutput(policy_preview(policy_id=uuid_in_path(pk, what="Policy"), **body.validated_data)).data
        )

    @extend_schema(request=ReplacesInput, responses=PolicyOutput)
    @action(detail=True, methods=["post"])
    def activate(self, request: Request, pk: str) -> Response:
        """From the next decision on this version counts. 409 when another one than `replaces` is active."""
        policy_activate(policy_id=uuid_in_path(pk, what="Policy"), replaces=_replaces(request))
        return _shown(pk)

    @extend_schema(request=ReplacesInput, responses=PolicyOutput)
    @action(detail=True, methods=["post"])
    def rollback(self, request: Request, pk: str) -> Response:
        """Back to this retired version."""
        policy_rollback(policy_id=uuid_in_path(pk, what="Policy"), replaces=_replaces(request))
        return _shown(pk)

    @extend_schema(operation_id="policies_rollback_last", request=ReplacesInput, responses=PolicyOutput)
    @action(detail=False, methods=["post"], url_path="rollback")
    def rollback_last(self, request: Request) -> Response:
        """Back to the version that was retired last."""
        return Response(PolicyOutput(policy_rollback(replaces=_replaces(request))).data)

    @extend_schema(request=None, responses=PolicyOutput)
    @action(detail=True, methods=["post"])
    def retire(self, request: Request, pk: str) -> Response:
        """Not wanted any more; if it is the active one, the defaults count."""
        policy_retire(policy_id=uuid_in_path(pk, what="Policy"))
        return _shown(pk)

    @extend_schema(request=ShareInput, responses=PolicyOutput)
    @action(detail=True, methods=["post"])
    def shadow(self, request: Request, pk: str) -> Response:
        """Run beside the active version on a share of the requests, in place of another shadow."""
        body = ShareInput(data=request.data)
        body.is_valid(raise_exception=True)
        return Response(
            PolicyOutput(policy_shadow_start(policy_id=uuid_in_path(pk, what="Policy"), **body.validated_data)).data
        )

    @extend_schema(request=None, responses=PolicyOutput)
    @shadow.mapping.delete
    def shadow_end(self, request: Request, pk: str) -> Response:
        """No shadow any more; what it found stays."""
        policy_shadow_end(policy_id=uuid_in_path(pk, what="Policy"))
        return _shown(pk)

    @extend_schema(responses=ShadowReportOutput)
    @action(detail=True, methods=["get"], url_path="shadow-report", filterset_class=None, pagination_class=None)
    def shadow_report(self, request: Request, pk: str) -> Response:
        """Agreement, moved winners, failures, score and fragmentation of all runs."""
        return Response(ShadowReportOutput(shadow_report(policy_id=uuid_in_path(pk, what="Policy"))).data)

    @extend_schema(responses=ShadowResultOutput(many=True))
    @action(
        detail=True,
        methods=["get"],
        url_path="shadow-results",
        queryset=ShadowResult.objects.none(),
        serializer_class=ShadowResultOutput,
        filterset_class=ShadowResultFilterSet,
        ordering_fields=["created_at", "duration_us", "score_difference"],
    )
    def shadow_results(self, request: Request, pk: str) -> Response:
        """Run by run, the newest first."""
        page = self.paginate_queryset(self.filter_queryset(self.get_queryset()))
        return self.get_paginated_response(ShadowResultOutput(page, many=True).data)


def _shown(pk: str) -> Response:
    return Response(PolicyOutput(policy_get(policy_id=uuid_in_path(pk, what="Policy"))).data)


def _replaces(request: Request) -> UUID | Anyone | None:
    """Without the field: whichever is active."""
    body = ReplacesInput(data=request.data)
    body.is_valid(raise_exception=True)
    given: UUID | Anyone | None = body.validated_data.get("replaces", ANYONE)
    return given
