"""Bulk jobs: one action for many things of a kind, with progress, retry and cancel."""

from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet
from django.http import QueryDict
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from controlplane.identity.api.callers import caller_of
from controlplane.identity.policy import require
from controlplane.infra.api.identifiers import uuid_in_path
from controlplane.kernel.errors import Forbidden
from servers.api.serializers.bulk_jobs import BulkItemOutput, BulkJobInput, BulkJobOutput
from servers.bulk.domain import BulkKind
from servers.bulk.selectors import bulk_items, bulk_job_get, bulk_jobs_visible, bulk_progress
from servers.bulk.services.jobs import bulk_action_of, bulk_job_cancel, bulk_job_create, bulk_job_retry
from servers.bulk.things.table import THINGS
from servers.conf import server_options
from servers.filtersets_bulk import BulkJobFilterSet
from servers.models import BulkJob


class BulkJobViewSet(GenericViewSet[BulkJob]):
    """Each item is judged when its turn comes, as if whoever asked for the job had asked for that thing alone."""

    policy = {
        "list": "bulk_jobs:read",
        "retrieve": "bulk_jobs:read",
        "items": "bulk_jobs:read",
        "create": "bulk_jobs:write",
        "retry": "bulk_jobs:write",
        "cancel": "bulk_jobs:write",
    }
    queryset = BulkJob.objects.none()
    serializer_class = BulkJobOutput
    filterset_class = BulkJobFilterSet
    ordering_fields = ["created_at", "finished_at"]

    def get_queryset(self) -> QuerySet[BulkJob]:
        return bulk_jobs_visible(caller=caller_of(self.request))

    def list(self, request: Request) -> Response:
        """The newest first: the caller's own, of administrators everybody's."""
        page = self.paginate_queryset(self.filter_queryset(self.get_queryset())) or []
        return self.get_paginated_response(_shown(page))

    def retrieve(self, request: Request, pk: str) -> Response:
        """One job, with how many of its items are in which state."""
        return _one(bulk_job_get(caller=caller_of(request), job_id=uuid_in_path(pk, what="Bulk job")))

    @extend_schema(request=BulkJobInput, responses={202: BulkJobOutput})
    def create(self, request: Request) -> Response:
        """Accept a job: 202. What destroys or interrupts needs `confirm`, the number of things."""
        body = BulkJobInput(data=request.data)
        body.is_valid(raise_exception=True)
        asked, caller = body.validated_data, caller_of(request)
        if asked["all_projects"] and not caller.is_admin:
            raise Forbidden("Only administrators act in every project.", field="all_projects")
        kind = BulkKind(asked["kind"])
        # What one may not do to many, one does not learn the number of by a filter either.
        require(caller, bulk_action_of(asked["action"], kind).policy)
        ids = asked.get("ids") or asked.get("instances")
        if ids is None:
            limit = server_options().bulk_job_max_items + 1
            ids = THINGS[kind].matching(caller, QueryDict(asked["filter"]), asked["all_projects"], limit)
        job = bulk_job_create(
            caller=caller,
            action=asked["action"],
            kind=kind,
            ids=ids,
            confirmed=asked.get("confirm"),
            note=asked.get("note", ""),
        )
        return Response(_shown([job])[0], status=status.HTTP_202_ACCEPTED)

    @extend_schema(responses=BulkItemOutput(many=True), parameters=[OpenApiParameter("state", str)])
    @action(detail=True, methods=["get"], filter_backends=[])
    def items(self, request: Request, pk: str) -> Response:
        """What became of each thing, in the order in which they were chosen; `?state=failed` for some."""
        job = bulk_job_get(caller=caller_of(request), job_id=uuid_in_path(pk, what="Bulk job"))
        found: QuerySet[Any] = bulk_items(job=job, state=request.query_params.get("state", ""))
        page = self.paginate_queryset(found) or []
        return self.get_paginated_response(BulkItemOutput(page, many=True).data)

    @extend_schema(request=None, responses={202: BulkJobOutput})
    @action(detail=True, methods=["post"])
    def retry(self, request: Request, pk: str) -> Response:
        """Try again what failed. Only whoever asked for the job may; 409 where nothing failed."""
        return _one(
            bulk_job_retry(caller=caller_of(request), job_id=uuid_in_path(pk, what="Bulk job")),
            status.HTTP_202_ACCEPTED,
        )

    @extend_schema(request=None, responses=BulkJobOutput)
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, pk: str) -> Response:
        """Begin none of the items that wait; what runs goes on. 409 where none waits."""
        return _one(bulk_job_cancel(caller=caller_of(request), job_id=uuid_in_path(pk, what="Bulk job")))


def _one(job: BulkJob, code: int = status.HTTP_200_OK) -> Response:
    return Response(_shown([job])[0], status=code)


def _shown(jobs: Sequence[BulkJob]) -> list[dict[str, Any]]:
    output = BulkJobOutput(jobs, many=True, context={"progress": bulk_progress([job.pk for job in jobs])})
    return list(output.data)
