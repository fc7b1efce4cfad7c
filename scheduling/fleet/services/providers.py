"""The host's side of Placement: its resource provider with inventory, traits, status and aggregates.

Every call reads first and writes only what differs, so a host that reports the same again costs no lock.
"""

from collections.abc import Callable, Iterable, Mapping
from uuid import UUID

from os_resource_classes import DISK_GB, MEMORY_MB, PCPU, VCPU, VGPU

from placement.domain import InventorySpec, InventoryUsage
from placement.selectors import fleet_usage
from placement.services import (
    inventory_set,
    provider_aggregates_set,
    provider_ensure,
    provider_status_disabled,
    provider_traits_set,
    provider_tree_delete,
)
from scheduling.conf import SchedulingOptions, scheduling_options
from scheduling.models import AggregateHost, ComputeNode


def node_provider_sync(*, node: ComputeNode, disabled: bool) -> None:
    """Provider, inventories and traits as the node reported them; traits and classes of others stay."""
    provider = provider_ensure(node.id, node.hypervisor_hostname)
    usage = fleet_usage({node.id}).get(node.id, {})
    wanted = inventories_wanted(node, usage)
    if wanted != {name: each.spec for name, each in usage.items()}:
        # With the generation: an operator's edit between our look and our write makes the agent register again.
        inventory_set(node.id, wanted, expected_generation=provider.generation)
    provider_traits_set(node.id, node.traits)
    provider_status_disabled(node.id, disabled)


def inventories_wanted(node: ComputeNode, usage: Mapping[str, InventoryUsage]) -> dict[str, InventorySpec]:
    """What Placement should offer of the node, given what it offers now: classes of others stay."""
    present = {name: each.spec for name, each in usage.items()}
    wanted = {**present, **_inventories(node, present, scheduling_options())}
    stated = [(DISK_GB, node.disk_gib), (VCPU, node.vcpus), (PCPU, node.dedicated_vcpus)]
    # A host that says nothing of virtual GPUs leaves them to whoever set them.
    stated += [(VGPU, node.vgpus)] if node.vgpus is not None else []
    for name, total in stated:
        # CPUs in use stay recorded as claimed until their instances are gone, whatever the host offers now.
        if not total and (name == DISK_GB or (name in usage and not usage[name].used)):
            wanted.pop(name, None)
    return wanted


def node_status_disabled(*, node_id: UUID, disabled: bool) -> None:
    """COMPUTE_STATUS_DISABLED, which every client of Placement understands."""
    provider_status_disabled(node_id, disabled)


def node_provider_delete(*, node_id: UUID) -> int:
    """Remove the provider and what is below it: how many. Raises ProviderInUse while anybody holds allocations."""
    return provider_tree_delete(node_id)


AggregateSource = Callable[[str], Iterable[UUID]]
_AGGREGATE_SOURCES: dict[str, AggregateSource] = {}


def aggregate_source_register(name: str, source: AggregateSource) -> None:
    """Let this say what a host's providers share with others besides aggregates of hosts. Called when the apps are
    ready; of one name the last counts.
    """
    _AGGREGATE_SOURCES[name] = source


def host_aggregates_mirror(*, host: str) -> None:
    """Placement's aggregates of the host's providers: those of the host itself, by the same uuids, and one for each
    thing that it shares with other hosts.
    """
    wanted = set(AggregateHost.objects.filter(host=host).values_list("aggregate_id", flat=True))
    wanted.update(pk for source in _AGGREGATE_SOURCES.values() for pk in source(host))
    for node_id in ComputeNode.objects.filter(host=host).values_list("id", flat=True):
        provider_aggregates_set(node_id, wanted)


def _inventories(
    node: ComputeNode, present: dict[str, InventorySpec], options: SchedulingOptions
) -> dict[str, InventorySpec]:
    """Totals from the report, reserved from settings; a ratio once set stays, as with Nova's initial ratios.

    Nobody shares a dedicated CPU or a virtual GPU: their ratio is 1, whatever was set.
    """
    stated = {
        PCPU: (node.dedicated_vcpus, 0, 1.0),
        VGPU: (node.vgpus or 0, 0, 1.0),
        VCPU: (node.vcpus, options.reserved_host_cpus, options.initial_cpu_allocation_ratio),
        MEMORY_MB: (node.memory_mib, options.reserved_host_memory_mib, options.initial_ram_allocation_ratio),
        DISK_GB: (node.disk_gib, options.reserved_host_disk_gib, options.initial_disk_allocation_ratio),
    }
    return {
        name: InventorySpec(
            total=total,
            reserved=min(reserved, total),
            max_unit=total,
            allocation_ratio=present[name].allocation_ratio if name in present and name not in (PCPU, VGPU) else ratio,
        )
        for name, (total, reserved, ratio) in stated.items()
        if total
    }
