"""Resource providers with inventories, usages, traits and consumers."""

from dataclasses import asdict
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.mixins import ListModelMixin, RetrieveModelMixin
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from placement.api.serializers.providers import (
    InventoriesOutput,
    ProviderDetailOutput,
    ProviderOutput,
    TraitsOutput,
    UsagesOutput,
)
from placement.domain import InventoryUsage
from placement.filtersets import ProviderFilterSet
from placement.models import ResourceProvider
from placement.selectors import (
    fleet_usage,
    provider_aggregates_by_uuid,
    provider_list,
    provider_traits_by_uuid,
)


class ProviderViewSet(ListModelMixin, RetrieveModelMixin, GenericViewSet[ResourceProvider]):
    """Who has inventory. For admins."""

    policy = dict.fromkeys(("list", "retrieve", "inventories", "usages", "traits"), "placement:read")
    queryset = provider_list()
    serializer_class = ProviderOutput
    filterset_class = ProviderFilterSet
    lookup_field = "uuid"
    lookup_url_kwarg = "id"
    lookup_value_regex = "[0-9a-fA-F-]{32,36}"
    ordering_fields = ["name", "kind", "generation", "created_at", "updated_at"]

    @extend_schema(responses=ProviderDetailOutput)
    def retrieve(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """One provider with all that it has."""
        provider = self.get_object()
        shown = ProviderOutput(provider).data
        return Response(
            {
                **shown,
                "inventories": _inventories(provider.uuid),
                "traits": _traits(provider.uuid),
                "aggregates": sorted(provider_aggregates_by_uuid([provider.uuid]).get(provider.uuid, ())),
            }
        )

    @extend_schema(responses=InventoriesOutput, filters=False)
    @action(detail=True, pagination_class=None)
    def inventories(self, request: Request, **_: Any) -> Response:
        """All inventories of a provider with what is used of each."""
        provider = self.get_object()
        return Response({"generation": provider.generation, "inventories": _inventories(provider.uuid)})

    @extend_schema(responses=UsagesOutput, filters=False)
    @action(detail=True, pagination_class=None)
    def usages(self, request: Request, **_: Any) -> Response:
        """What is used, per class."""
        provider = self.get_object()
        used = {name: usage.used for name, usage in _usage(provider.uuid).items()}
        return Response({"generation": provider.generation, "usages": used})

    @extend_schema(responses=TraitsOutput, filters=False)
    @action(detail=True, pagination_class=None)
    def traits(self, request: Request, **_: Any) -> Response:
        """The traits of a provider."""
        provider = self.get_object()
        return Response({"generation": provider.generation, "traits": _traits(provider.uuid)})


def _usage(provider_uuid: UUID) -> dict[str, InventoryUsage]:
    return dict(sorted(fleet_usage([provider_uuid]).get(provider_uuid, {}).items()))


def _inventories(provider_uuid: UUID) -> list[dict[str, Any]]:
    return [
        {"resource_class": name, **asdict(usage), "free": usage.free} for name, usage in _usage(provider_uuid).items()
    ]


def _traits(provider_uuid: UUID) -> list[str]:
    return sorted(provider_traits_by_uuid([provider_uuid]).get(provider_uuid, ()))
