"""Aggregates: read, write, hosts in and out, metadata."""

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.mixins import ListModelMixin, RetrieveModelMixin
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from controlplane.infra.api.identifiers import uuid_in_path
from scheduling.api.serializers.aggregates import (
    AggregateChange,
    AggregateHostInput,
    AggregateInput,
    AggregateMetadataInput,
    AggregateOutput,
)
from scheduling.filtersets import AggregateFilterSet
from scheduling.fleet.services.aggregates import (
    aggregate_create,
    aggregate_delete,
    aggregate_host_add,
    aggregate_host_remove,
    aggregate_update,
)
from scheduling.models import Aggregate

WRITE = "aggregates:write"


class AggregateViewSet(ListModelMixin, RetrieveModelMixin, GenericViewSet[Aggregate]):
    """Named sets of hosts; the metadata key `availability_zone` makes one a zone."""

    policy = {
        "list": "aggregates:read",
        "retrieve": "aggregates:read",
        "create": WRITE,
        "partial_update": WRITE,
        "destroy": WRITE,
        "add_host": WRITE,
        "remove_host": WRITE,
        "set_metadata": WRITE,
    }
    queryset = Aggregate.objects.prefetch_related("members")
    serializer_class = AggregateOutput
    filterset_class = AggregateFilterSet
    lookup_value_regex = "[0-9a-fA-F-]{32,36}"
    ordering_fields = ["name", "created_at"]

    @extend_schema(request=AggregateInput, responses={201: AggregateOutput})
    def create(self, request: Request) -> Response:
        """A new aggregate without hosts."""
        body = AggregateInput(data=request.data)
        body.is_valid(raise_exception=True)
        made = aggregate_create(**body.validated_data)
        return Response(AggregateOutput(made).data, status=status.HTTP_201_CREATED)

    @extend_schema(request=AggregateChange, responses=AggregateOutput)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Rename it, merge metadata (null removes a key)."""
        body = AggregateChange(data=request.data)
        body.is_valid(raise_exception=True)
        aggregate_update(aggregate_id=uuid_in_path(pk, what="Aggregate"), **body.validated_data)
        return self._shown(pk)

    def destroy(self, request: Request, pk: str) -> Response:
        """Delete an aggregate; 409 while it has hosts."""
        aggregate_delete(aggregate_id=uuid_in_path(pk, what="Aggregate"))
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(request=AggregateHostInput, responses=AggregateOutput)
    @action(detail=True, methods=["post"])
    def add_host(self, request: Request, pk: str) -> Response:
        """Put a host in; 409 when that would put it into two zones."""
        aggregate_host_add(aggregate_id=uuid_in_path(pk, what="Aggregate"), host=_host(request))
        return self._shown(pk)

    @extend_schema(request=AggregateHostInput, responses=AggregateOutput)
    @action(detail=True, methods=["post"])
    def remove_host(self, request: Request, pk: str) -> Response:
        """Take a host out."""
        aggregate_host_remove(aggregate_id=uuid_in_path(pk, what="Aggregate"), host=_host(request))
        return self._shown(pk)

    @extend_schema(request=AggregateMetadataInput, responses=AggregateOutput)
    @action(detail=True, methods=["post"])
    def set_metadata(self, request: Request, pk: str) -> Response:
        """Merge metadata; null removes a key."""
        body = AggregateMetadataInput(data=request.data)
        body.is_valid(raise_exception=True)
        aggregate_update(aggregate_id=uuid_in_path(pk, what="Aggregate"), metadata=body.validated_data["metadata"])
        return self._shown(pk)

    def _shown(self, pk: str) -> Response:
        return Response(AggregateOutput(self.get_queryset().get(pk=uuid_in_path(pk, what="Aggregate"))).data)


def _host(request: Request) -> str:
    body = AggregateHostInput(data=request.data)
    body.is_valid(raise_exception=True)
    host: str = body.validated_data["host"]
    return host
