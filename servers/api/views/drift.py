"""What is out of step now, putting it right, and the book of what was put right. For admins."""

from collections.abc import Collection
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet, ReadOnlyModelViewSet

from controlplane.identity.api.callers import caller_of
from controlplane.kernel.errors import Invalid
from controlplane.kernel.ids import parse_uuid
from controlplane.work.filtersets import HealFilterSet
from controlplane.work.heal_records import heals
from controlplane.work.models import Heal
from servers.api.serializers.drift import (
    DriftCheckOutput,
    DriftCheckResultOutput,
    DriftHealInput,
    DriftHealOutput,
    DriftOutput,
    HealOutput,
)
from servers.repair.domain.drift import DriftKind
from servers.repair.selectors.drift import drift_checks, drift_of, drift_rows
from servers.repair.services.drift import drift_check_request, drift_heal


class DriftViewSet(GenericViewSet[Any]):
    """Drift between instance, allocation, guest and host, as the last check found it: no hypervisor is asked."""

    policy = {"list": "drift:read", "heal": "drift:write", "checks": "drift:read", "check": "drift:write"}
    serializer_class = DriftOutput
    pagination_class = GenericViewSet.pagination_class
    filter_backends: list[Any] = []

    def get_queryset(self) -> Any:
        """The findings of the last checks."""
        return drift_rows()

    @extend_schema(
        parameters=[
            OpenApiParameter("kind", OpenApiTypes.STR, enum=[kind.value for kind in DriftKind], many=True),
            OpenApiParameter("host", OpenApiTypes.STR, description="Of this host only."),
            OpenApiParameter("instance", OpenApiTypes.UUID, description="About this instance only."),
        ]
    )
    def list(self, request: Request) -> Response:
        """What the last checks found out of step, longest lasting first; `checks/` says when that was.

        An empty list: all agreed then.
        """
        query = request.query_params
        found = drift_rows(
            kinds=_kinds(query.getlist("kind")),
            host=query.get("host", ""),
            instance_id=_instance(query.get("instance", "")),
        )
        page = [drift_of(row) for row in self.paginate_queryset(found) or ()]
        return self.get_paginated_response(DriftOutput(page, many=True).data)

    @extend_schema(responses=DriftCheckResultOutput(many=True))
    @action(detail=False, methods=["get"], pagination_class=None)
    def checks(self, request: Request) -> Response:
        """When guests and allocations were checked last, and how much was found."""
        looks = sorted(drift_checks().values(), key=lambda look: look.name)
        return Response(DriftCheckResultOutput(looks, many=True).data)

    @extend_schema(request=None, responses={202: DriftCheckOutput})
    @action(detail=False, methods=["post"])
    def check(self, request: Request) -> Response:
        """Ask for a check now, which the conductor runs; nothing is healed by it."""
        return Response(DriftCheckOutput({"is_new": drift_check_request()}).data, status=202)

    @extend_schema(request=DriftHealInput, responses=DriftHealOutput)
    @action(detail=False, methods=["post"])
    def heal(self, request: Request) -> Response:
        """Put one right. 404 when it is not there any more, 409 with the reason when it cannot be done from here."""
        body = DriftHealInput(data=request.data)
        body.is_valid(raise_exception=True)
        healed = drift_heal(key=body.validated_data["key"], actor=caller_of(request).username)
        return Response(DriftHealOutput(healed).data)


class HealViewSet(ReadOnlyModelViewSet[Heal]):
    """What the control plane put right, by itself or when it was asked to, with the evidence."""

    policy = {"list": "heals:read", "retrieve": "heals:read"}
    queryset = Heal.objects.none()
    serializer_class = HealOutput
    filterset_class = HealFilterSet
    ordering_fields = ["created_at", "kind"]

    def get_queryset(self) -> QuerySet[Heal]:
        return heals()


def _kinds(names: Collection[str]) -> list[DriftKind] | None:
    known = {kind.value: kind for kind in DriftKind}
    unknown = sorted({name for name in names if name not in known})
    if unknown:
        raise Invalid(f"There is no kind of drift {unknown[0]!r:.80}.", field="kind")
    return [known[name] for name in names] or None


def _instance(text: str) -> UUID | None:
    if not text:
        return None
    found = parse_uuid(text)
    if found is None:
        raise Invalid("This is no UUID.", field="instance")
    return found
