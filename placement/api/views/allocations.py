"""Allocations of all consumers."""

from rest_framework.mixins import ListModelMixin
from rest_framework.viewsets import GenericViewSet

from placement.api.serializers.allocations import AllocationOutput
from placement.filtersets import AllocationFilterSet
from placement.models import Allocation
from placement.selectors import allocation_list


class AllocationViewSet(ListModelMixin, GenericViewSet[Allocation]):
    """Who holds how much of what. For admins."""

    policy = {"list": "placement:read"}
    queryset = allocation_list()
    serializer_class = AllocationOutput
    filterset_class = AllocationFilterSet
    ordering_fields = ["used", "provider__name", "resource_class__name"]
