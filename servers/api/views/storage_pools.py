"""Storage pools, for admins: read, and what may be said of them."""

from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ReadOnlyModelViewSet

from controlplane.infra.api.identifiers import uuid_in_path
from servers.api.serializers.volume_types import StoragePoolChange, StoragePoolOutput
from servers.filtersets_volume import StoragePoolFilter
from servers.models import StoragePool
from servers.volumes.selectors.pools import pool_get, pools_shown, promised_gib
from servers.volumes.services.pool_edits import pool_delete, pool_update


class StoragePoolViewSet(ReadOnlyModelViewSet[StoragePool]):
    """Where volumes are. Hosts report pools; nobody makes one by hand."""

    policy = {
        "list": "storage_pools:read",
        "retrieve": "storage_pools:read",
        "partial_update": "storage_pools:write",
        "destroy": "storage_pools:write",
    }
    queryset = StoragePool.objects.none()
    serializer_class = StoragePoolOutput
    filterset_class = StoragePoolFilter
    ordering_fields = ["name", "host", "kind", "total_bytes", "free_bytes"]

    def get_queryset(self) -> QuerySet[StoragePool]:
        """All of them."""
        return pools_shown()

    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """A page of them, with what is promised of each: four queries."""
        page = self.paginate_queryset(self.filter_queryset(self.get_queryset()))
        return self.get_paginated_response(_shown(page or []))

    def retrieve(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """One of them."""
        pool_id = uuid_in_path(self.kwargs["pk"], what="Storage pool")
        return Response(_shown([pool_get(pool_id=pool_id)])[0])

    @extend_schema(request=StoragePoolChange, responses=StoragePoolOutput)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Says whether it gets new volumes, and how much of it is promised."""
        body = StoragePoolChange(data=request.data)
        body.is_valid(raise_exception=True)
        pool = pool_update(pool_id=uuid_in_path(pk, what="Storage pool"), changes=body.validated_data)
        return Response(_shown([pool])[0])

    def destroy(self, request: Request, pk: str) -> Response:
        """Forgets one that no host reports and no volume is in."""
        pool_delete(pool_id=uuid_in_path(pk, what="Storage pool"))
        return Response(status=status.HTTP_204_NO_CONTENT)


def _shown(pools: Sequence[StoragePool]) -> list[dict[str, Any]]:
    context = {"promised": promised_gib([pool.pk for pool in pools])}
    return [dict(StoragePoolOutput(pool, context=context).data) for pool in pools]
