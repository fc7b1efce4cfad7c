"""The map of the fleet, the room, the topology and the switches of a host, on the wire."""

from typing import Any

from rest_framework import serializers

from controlplane.kernel.cpu_list import format_cpus
from scheduling.fleet.domain.fleet_map import Grouping, Heat, MapGroup, MapHost
from servers.hosts.selectors.fleet_map import FleetMap
from servers.hosts.selectors.topology import HostTopologyShown
from servers.trials.host_room import FlavorRoom


class MapHostOutput(serializers.Serializer[MapHost]):
    """One compute node."""

    host = serializers.CharField()
    node = serializers.CharField()
    zone = serializers.CharField()
    aggregates = serializers.ListField(child=serializers.CharField())
    state = serializers.SerializerMethodField()
    status = serializers.SerializerMethodField()
    forced_down = serializers.BooleanField(source="is_forced_down")
    memory_mib = serializers.IntegerField(help_text="Of the machine; the size of its box.")
    running_guests = serializers.IntegerField()
    used = serializers.IntegerField(allow_null=True, help_text="Of the resource; null: not known, or not asked for.")
    capacity = serializers.IntegerField(allow_null=True, help_text="What may be promised of it.")
    part = serializers.FloatField(allow_null=True, help_text="How full or busy it is; 1 is all of it.")
    fits = serializers.IntegerField(allow_null=True, help_text="How many more of the flavor; null: not counted.")
    fits_is_lower_bound = serializers.BooleanField()
    limit = serializers.CharField(help_text="What stops one more: a resource class, or a reason's code.")

    def get_state(self, one: MapHost) -> str:
        return "up" if one.is_up else "down"

    def get_status(self, one: MapHost) -> str:
        return "disabled" if one.is_disabled else "enabled"


class MapGroupOutput(serializers.Serializer[MapGroup]):
    """Nodes that stand together. Sums leave out those that are down."""

    name = serializers.CharField(help_text="Of the zone or aggregate; empty for nodes that are in none.")
    down = serializers.IntegerField()
    disabled = serializers.IntegerField(help_text="Up, and disabled.")
    used = serializers.IntegerField()
    capacity = serializers.IntegerField()
    fits = serializers.IntegerField()
    hosts = MapHostOutput(many=True)


class FleetMapOutput(serializers.Serializer[Any]):
    """The fleet in groups, with one measure for each node."""

    heat = serializers.ChoiceField([one.value for one in Heat])
    group = serializers.ChoiceField([one.value for one in Grouping])
    flavor = serializers.CharField(help_text="Name of the one that was counted.")
    count = serializers.IntegerField(help_text="Nodes, each once.")
    groups = MapGroupOutput(many=True)


def fleet_map_output(found: FleetMap) -> dict[str, Any]:
    """The answer."""
    shown = {
        "heat": found.heat.value,
        "group": found.grouping.value,
        "flavor": found.flavor,
        "count": len(found.hosts),
        "groups": found.groups,
    }
    return dict(FleetMapOutput(shown).data)


class HostFlavorRoomOutput(serializers.Serializer[FlavorRoom]):
    """How many more of one flavor the host takes."""

    flavor = serializers.SerializerMethodField()
    fits = serializers.IntegerField(allow_null=True)
    limit = serializers.CharField(help_text="What stops one more: a resource class, or a reason's code.")
    is_lower_bound = serializers.BooleanField()
    problem = serializers.CharField()

    def get_flavor(self, one: FlavorRoom) -> dict[str, Any]:
        return {name: getattr(one.flavor, name) for name in ("id", "name", "vcpus", "memory_mib", "root_gib")}


class HostRoomOutput(serializers.Serializer[Any]):
    """The room of one host, flavor by flavor, each as if all room went to it."""

    host = serializers.CharField()
    policy_version = serializers.CharField()
    rooms = HostFlavorRoomOutput(many=True)
    left_out = serializers.IntegerField(help_text="Flavors beyond those that are counted at once.")


class HostSwitchOutput(serializers.Serializer[Any]):
    """Somebody disabled or enabled the host, declared it dead, or took that back."""

    at = serializers.DateTimeField()
    kind = serializers.CharField(help_text="disabled, enabled, forced down or no longer forced down.")
    by = serializers.CharField()
    door = serializers.CharField()
    reason = serializers.CharField()
    request_id = serializers.CharField()
    ended_at = serializers.DateTimeField(allow_null=True, help_text="When what it began was taken back.")
    lasted_s = serializers.FloatField(allow_null=True)


class HostSwitchesOutput(serializers.Serializer[Any]):
    """The newest first, as far back as the audit log is kept."""

    switches = HostSwitchOutput(many=True)


class HostDeviceOutput(serializers.Serializer[Any]):
    """A PCI device, and the instance that has it."""

    address = serializers.CharField()
    vendor_id = serializers.CharField()
    product_id = serializers.CharField()
    dev_type = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]  # the device's, not the field's
    state = serializers.CharField()
    instance = serializers.CharField(source="owner", help_text="Its id; empty: nobody has it.")


class HostCpuOutput(serializers.Serializer[Any]):
    """A CPU: shared (guests float over it), free (for pinning), or pinned to one instance."""

    cpu = serializers.IntegerField()
    use = serializers.CharField()
    instance = serializers.CharField(source="owner")


class NumaPagesOutput(serializers.Serializer[Any]):
    """Pages of one size."""

    size_kib = serializers.IntegerField()
    total = serializers.IntegerField()
    used = serializers.IntegerField()
    reserved = serializers.IntegerField()


class NumaCellOutput(serializers.Serializer[Any]):
    """A NUMA cell. CPUs that stand together are threads of one core."""

    id = serializers.IntegerField(source="cell.id")
    socket = serializers.IntegerField(source="cell.socket", allow_null=True)
    shared_cpus = serializers.SerializerMethodField()
    shared_vcpus_used = serializers.IntegerField(source="cell.cpu_usage")
    cores = serializers.SerializerMethodField()
    memory_mib = serializers.IntegerField(source="cell.memory_mib")
    memory_used_mib = serializers.IntegerField(source="cell.memory_used_mib")
    pages = NumaPagesOutput(many=True, source="cell.mempages")
    instances = serializers.ListField(source="guests", child=serializers.CharField())
    devices = HostDeviceOutput(many=True)

    def get_shared_cpus(self, one: Any) -> str:
        return format_cpus(one.cell.cpuset)

    def get_cores(self, one: Any) -> list[list[dict[str, Any]]]:
        return [[dict(HostCpuOutput(cpu).data) for cpu in core] for core in one.cores]


class HostTopologyOutput(serializers.Serializer[Any]):
    """NUMA cells and PCI devices with those who have them; `names` of instances by id."""

    cells = NumaCellOutput(many=True)
    devices = HostDeviceOutput(many=True, help_text="Of which the host does not say near which cell they are.")
    names = serializers.DictField(child=serializers.CharField())


def host_topology_output(shown: HostTopologyShown) -> dict[str, Any]:
    """The answer."""
    found = {"cells": shown.picture.cells, "devices": shown.picture.devices, "names": dict(shown.names)}
    return dict(HostTopologyOutput(found).data)
