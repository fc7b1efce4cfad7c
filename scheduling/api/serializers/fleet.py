"""Cells, host mappings, services, compute nodes, hosts and zones on the wire. All read-only."""

from dataclasses import asdict
from typing import Any

from drf_spectacular.utils import extend_schema_field, extend_schema_serializer
from rest_framework import serializers

from controlplane.infra.api.strict import StrictInput
from scheduling.fleet.selectors.hosts import HostOverview
from scheduling.fleet.selectors.versions import ComponentVersions, FleetVersions, VersionCount
from scheduling.fleet.selectors.zones import Zone
from scheduling.models import Cell, ComputeNode, HostMapping, Service


class CellOutput(serializers.ModelSerializer[Cell]):
    """A cell, whether it is disabled for new instances, and how many hosts are in it."""

    hosts = serializers.IntegerField(read_only=True)

    class Meta:
        model = Cell
        fields = ["id", "name", "disabled", "hosts", "created_at", "updated_at"]


class HostMappingOutput(serializers.ModelSerializer[HostMapping]):
    """A host and its cell."""

    cell_name = serializers.CharField(source="cell.name")

    class Meta:
        model = HostMapping
        fields = ["id", "host", "cell", "cell_name", "created_at"]


class ServiceOutput(serializers.ModelSerializer[Service]):
    """A service with its state (up or down, by the database's clock) and status (enabled or disabled)."""

    state = serializers.SerializerMethodField()
    status = serializers.SerializerMethodField()

    class Meta:
        model = Service
        fields = [
            "id",
            "host",
            "binary",
            "state",
            "status",
            "disabled",
            "disabled_reason",
            "forced_down",
            "last_seen_up",
            "version",
            "report_count",
            "created_at",
            "updated_at",
        ]

    def get_state(self, service: Service) -> str:
        return "up" if getattr(service, "is_up", False) else "down"

    def get_status(self, service: Service) -> str:
        return "disabled" if service.disabled else "enabled"


class ServiceDisableInput(StrictInput):
    """Why no new instances shall go there."""

    reason = serializers.CharField(required=False, allow_blank=True, default="", max_length=255)


class ServiceForceDownInput(StrictInput):
    """Whether the host is to count as dead."""

    forced_down = serializers.BooleanField(default=True)


class ComputeNodeOutput(serializers.ModelSerializer[ComputeNode]):
    """A hypervisor as it reported itself. Memory MiB, disk GiB."""

    class Meta:
        model = ComputeNode
        fields = [
            "id",
            "service",
            "host",
            "hypervisor_hostname",
            "hypervisor_type",
            "hypervisor_version",
            "virt_type",
            "arch",
            "vcpus",
            "vgpus",
            "vcpus_used",
            "memory_mib",
            "memory_used_mib",
            "disk_gib",
            "disk_used_gib",
            "disk_available_least_gib",
            "running_guests",
            "host_ip",
            "cpu_info",
            "supported_instances",
            "traits",
            "guest_cpu",
            "stats",
            "metrics",
            "metrics_at",
            "clock_skew_s",
            "clock_error_s",
            "agent_version",
            "protocol_version",
            "libvirt_version",
            "kernel_version",
            "os_name",
            "safe_mode",
            "networks_lack",
            "failed_builds",
            "created_at",
            "updated_at",
        ]


class HostOutput(serializers.Serializer[HostOverview]):
    """A host: service, hypervisor, zone and what is promised of it."""

    host = serializers.CharField()
    compute_node_uuid = serializers.UUIDField()
    hypervisor_hostname = serializers.CharField(source="node.hypervisor_hostname")
    hypervisor_type = serializers.CharField(source="node.hypervisor_type")
    hypervisor_version = serializers.IntegerField(source="node.hypervisor_version")
    virt_type = serializers.CharField(source="node.virt_type")
    arch = serializers.CharField(source="node.arch")
    host_ip = serializers.CharField(source="node.host_ip")
    service_id = serializers.UUIDField(source="node.service_id")
    state = serializers.CharField()
    status = serializers.CharField()
    disabled_reason = serializers.CharField()
    forced_down = serializers.BooleanField(source="node.service.forced_down")
    last_seen_up = serializers.DateTimeField(allow_null=True)
    safe_mode = serializers.CharField(
        source="node.safe_mode", help_text="Why its agent destroys and starts nothing now; empty: it does."
    )
    networks_lack = serializers.CharField(
        source="node.networks_lack",
        help_text="What it lacks to carry networks that it was meant to carry; empty where it lacks nothing.",
    )
    cell = serializers.CharField()
    cell_uuid = serializers.UUIDField(allow_null=True)
    availability_zone = serializers.CharField()
    aggregates = serializers.ListField(child=serializers.CharField())
    running_guests = serializers.IntegerField(source="node.running_guests")
    failed_builds = serializers.IntegerField(source="node.failed_builds")
    service_version = serializers.IntegerField(source="node.service.version")
    agent_version = serializers.CharField(source="node.agent_version")
    protocol_version = serializers.IntegerField(source="node.protocol_version")
    libvirt_version = serializers.CharField(source="node.libvirt_version")
    kernel_version = serializers.CharField(source="node.kernel_version")
    os_name = serializers.CharField(source="node.os_name")
    guest_cpu = serializers.JSONField(
        source="node.guest_cpu",
        help_text="The CPU that its guests get: mode, models (of the mode custom, the preferred one first) and flags.",
    )
    clock_skew_s = serializers.FloatField(source="node.clock_skew_s", allow_null=True)
    clock_error_s = serializers.FloatField(source="node.clock_error_s", allow_null=True)
    clock_is_off = serializers.BooleanField()
    metrics = serializers.DictField(source="node.metrics", child=serializers.FloatField())
    metrics_at = serializers.DateTimeField(source="node.metrics_at", allow_null=True)
    usage = serializers.SerializerMethodField()

    @extend_schema_field(serializers.DictField(child=serializers.DictField()))
    def get_usage(self, host: HostOverview) -> dict[str, Any]:
        """Placement's inventory and usage by resource class."""
        return {name: {**asdict(one), "free": one.free} for name, one in sorted(host.usage.items())}


class VersionCountOutput(serializers.Serializer[VersionCount]):
    """How many hosts have one version; silent ones are those whose agent is down, which tell nothing new."""

    version = serializers.CharField()
    up = serializers.IntegerField()
    silent = serializers.IntegerField()
    is_newest = serializers.BooleanField()


class ComponentVersionsOutput(serializers.Serializer[ComponentVersions]):
    """The versions of one component. `behind`: hosts that are up and have another than the newest; null where versions
    of several makers cannot be compared.
    """

    component = serializers.CharField()
    behind = serializers.IntegerField(allow_null=True)
    versions = VersionCountOutput(many=True)


@extend_schema_serializer(many=False)
class FleetVersionsOutput(serializers.Serializer[FleetVersions]):
    """What runs on the hosts, by component."""

    up = serializers.IntegerField()
    silent = serializers.IntegerField()
    components = ComponentVersionsOutput(many=True)


class ZoneOutput(serializers.Serializer[Zone]):
    """An availability zone. Hosts are shown to operators only."""

    name = serializers.CharField()
    available = serializers.BooleanField(source="is_available")
    hosts = serializers.SerializerMethodField()

    def get_hosts(self, zone: Zone) -> list[str] | None:
        """Names, or null for callers who may not see hosts."""
        return list(zone.hosts) if self.context.get("shows_hosts") else None


@extend_schema_serializer(many=False)
class ZonesOutput(serializers.Serializer[Any]):
    """All zones in one page, in the form that lists have."""

    count = serializers.IntegerField()
    next = serializers.CharField(allow_null=True)
    previous = serializers.CharField(allow_null=True)
    results = ZoneOutput(many=True)
