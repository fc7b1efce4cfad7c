"""Cells, host mappings, services, compute nodes, hosts and zones."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.mixins import ListModelMixin, RetrieveModelMixin
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet, ViewSet

from controlplane.identity.api.callers import caller_of
from scheduling.api.serializers.fleet import (
    CellOutput,
    ComputeNodeOutput,
    FleetVersionsOutput,
    HostMappingOutput,
    HostOutput,
    ServiceDisableInput,
    ServiceForceDownInput,
    ServiceOutput,
    ZoneOutput,
    ZonesOutput,
)
from scheduling.filtersets import (
    CellFilterSet,
    ComputeNodeFilterSet,
    HostFilterSet,
    HostMappingFilterSet,
    ServiceFilterSet,
)
from scheduling.fleet.selectors.cells import cells_with_hosts
from scheduling.fleet.selectors.hosts import host_get, host_nodes_listed, host_overviews
from scheduling.fleet.selectors.liveness import with_is_up
from scheduling.fleet.selectors.versions import fleet_versions
from scheduling.fleet.selectors.zones import zone_list
from scheduling.fleet.services.service_states import service_disable, service_enable, service_force_down
from scheduling.models import Cell, ComputeNode, HostMapping, Service

READ = {"list": "hosts:read", "retrieve": "hosts:read"}
UUID_PATTERN = "[0-9a-fA-F-]{32,36}"


class CellViewSet(ListModelMixin, RetrieveModelMixin, GenericViewSet[Cell]):
    """Cells; cell0 holds what never got a host."""

    policy = {"list": "cells:read", "retrieve": "cells:read"}
    queryset = cells_with_hosts()
    serializer_class = CellOutput
    filterset_class = CellFilterSet
    lookup_value_regex = UUID_PATTERN
    ordering_fields = ["name", "created_at"]


class HostMappingViewSet(ListModelMixin, RetrieveModelMixin, GenericViewSet[HostMapping]):
    """Which host is in which cell."""

    policy = READ
    queryset = HostMapping.objects.select_related("cell")
    serializer_class = HostMappingOutput
    filterset_class = HostMappingFilterSet
    lookup_value_regex = "[0-9]+"
    ordering_fields = ["host", "created_at"]


class ServiceViewSet(ListModelMixin, RetrieveModelMixin, GenericViewSet[Service]):
    """Services with their state by the database's clock; enable, disable, force down."""

    policy = {**READ, "enable": "hosts:write", "disable": "hosts:write", "force_down": "hosts:write"}
    queryset = Service.objects.all()
    serializer_class = ServiceOutput
    filterset_class = ServiceFilterSet
    lookup_value_regex = UUID_PATTERN
    ordering_fields = ["host", "binary", "last_seen_up", "created_at"]

    def get_queryset(self) -> QuerySet[Service]:
        return with_is_up(super().get_queryset())

    @extend_schema(request=None, responses=ServiceOutput)
    @action(detail=True, methods=["post"])
    def enable(self, request: Request, pk: str) -> Response:
        """New instances may come again."""
        service_enable(host=self.get_object().host)
        return Response(self.get_serializer(self.get_object()).data)

    @extend_schema(request=ServiceDisableInput, responses=ServiceOutput)
    @action(detail=True, methods=["post"])
    def disable(self, request: Request, pk: str) -> Response:
        """No new instances; what runs keeps running."""
        body = ServiceDisableInput(data=request.data)
        body.is_valid(raise_exception=True)
        service_disable(host=self.get_object().host, **body.validated_data)
        return Response(self.get_serializer(self.get_object()).data)

    @extend_schema(request=ServiceForceDownInput, responses=ServiceOutput)
    @action(detail=True, methods=["post"])
    def force_down(self, request: Request, pk: str) -> Response:
        """Declare the host dead, or take that back with {"forced_down": false}."""
        body = ServiceForceDownInput(data=request.data)
        body.is_valid(raise_exception=True)
        service_force_down(host=self.get_object().host, **body.validated_data)
        return Response(self.get_serializer(self.get_object()).data)


class ComputeNodeViewSet(ListModelMixin, RetrieveModelMixin, GenericViewSet[ComputeNode]):
    """Hypervisors as they reported themselves."""

    policy = READ
    queryset = ComputeNode.objects.all()
    serializer_class = ComputeNodeOutput
    filterset_class = ComputeNodeFilterSet
    lookup_value_regex = UUID_PATTERN
    ordering_fields = ["host", "hypervisor_hostname", "vcpus", "memory_mib", "disk_gib", "running_guests"]


class HostViewSet(GenericViewSet[ComputeNode]):
    """Hosts: service, hypervisor, zone, state and promised resources in one. The door is `servers.api`, where they are
    removed too.
    """

    policy = READ
    queryset = ComputeNode.objects.none()
    serializer_class = HostOutput  # type: ignore[assignment]  # shows overviews of the rows that are filtered and paged
    filterset_class = HostFilterSet
    lookup_field = "host"
    lookup_value_regex = "[^/]+"
    ordering_fields = ["host", "hypervisor_hostname", "vcpus", "memory_mib", "running_guests", "failed_builds"]

    def list(self, request: Request) -> Response:
        """Hosts, sorted by name."""
        page = self.paginate_queryset(self.filter_queryset(host_nodes_listed()))
        shown = HostOutput(host_overviews(page or []), many=True)  # type: ignore[arg-type]  # many
        return self.get_paginated_response(shown.data)

    def retrieve(self, request: Request, host: str) -> Response:
        """One host by its service host name."""
        return Response(HostOutput(host_get(host=host)).data)


class HostVersionsViewSet(ViewSet):
    """What runs on the hosts, to watch an upgrade. Which hosts: `GET /api/hosts/?behind=true` and its other filters."""

    policy = {"list": "hosts:read"}

    @extend_schema(responses=FleetVersionsOutput)
    def list(self, request: Request) -> Response:
        """Versions of agents, hypervisors and systems, and how many hosts have each; one query."""
        return Response(FleetVersionsOutput(fleet_versions()).data)


class ZoneViewSet(ViewSet):
    """Availability zones, for everybody; their hosts for operators."""

    policy = {"list": "availability_zones:read"}

    @extend_schema(responses=ZonesOutput)
    def list(self, request: Request) -> Response:
        """All zones by name, not paged: there are few."""
        context: dict[str, Any] = {"shows_hosts": caller_of(request).sees_all}
        zones = ZoneOutput(zone_list(), many=True, context=context).data  # type: ignore[arg-type]  # many
        return Response({"count": len(zones), "next": None, "previous": None, "results": zones})
