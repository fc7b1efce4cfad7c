"""Work: what runs, waits and ended, wake again, cancel. For admins. It is here because its subjects are."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from controlplane.identity.api.callers import caller_of
from controlplane.infra.api.identifiers import uuid_in_path
from controlplane.work.control import Operator, work_cancel_one, work_get, work_retry, work_statuses, works
from controlplane.work.models import Work
from servers.api.serializers.work import WorkOutput
from servers.filtersets_instance import InstanceWorkFilterSet


class WorkViewSet(GenericViewSet[Work]):
    """Every piece of long work is a row: who has it, until when, which attempt, and what may be done about it."""

    policy = {"list": "work:read", "retrieve": "work:read", "retry": "work:write", "cancel": "work:write"}
    queryset = Work.objects.none()
    serializer_class = WorkOutput
    filterset_class = InstanceWorkFilterSet
    ordering_fields = ["created_at", "deadline_at", "finished_at", "attempt"]

    def get_queryset(self) -> QuerySet[Work]:
        return works()

    def list(self, request: Request) -> Response:
        """The newest first, ended ones too; `?state=open` for what waits or runs."""
        page = self.paginate_queryset(self.filter_queryset(self.get_queryset())) or []
        return self.get_paginated_response(_shown(page))

    def retrieve(self, request: Request, pk: str) -> Response:
        """One piece of work by id."""
        return _one(work_get(work_id=uuid_in_path(pk, what="Work")))

    @extend_schema(request=None, responses=WorkOutput)
    @action(detail=True, methods=["post"])
    def retry(self, request: Request, pk: str) -> Response:
        """Wake it at once. 409 with the reason unless it waits, or its owner's lease ran out."""
        return _one(work_retry(work_id=uuid_in_path(pk, what="Work"), operator=_operator(request)))

    @extend_schema(request=None, responses=WorkOutput)
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, pk: str) -> Response:
        """End it, as if it had passed its deadline; the fault of its instance names who cancelled. 409 if it ended."""
        return _one(work_cancel_one(work_id=uuid_in_path(pk, what="Work"), operator=_operator(request)))


def _one(work: Work) -> Response:
    return Response(_shown([work])[0])


def _shown(works: list[Work]) -> list[dict[str, Any]]:
    output = WorkOutput(works, many=True, context={"statuses": work_statuses(works)})
    return list(output.data)


def _operator(request: Request) -> Operator:
    caller = caller_of(request)
    return Operator(user_id=caller.user_id, name=caller.username)
