"""From an instance's row, and what it was given of its host, to what a driver needs to make the guest."""

from dataclasses import dataclass

from computeagent.protocol.guests import GuestSpec, PortSpec
from computeagent.protocol.topology import CpuTopology
from controlplane.kernel.cpu_list import format_cpus
from controlplane.kernel.errors import Invalid
from scheduling.domain.request.image_property_names import present_names
from scheduling.domain.snapshots import FlavorSnapshot, ImageSnapshot
from scheduling.topology.domain.flavor_keys import HwRequest
from scheduling.topology.domain.numa.cpu_rules import cpu_rules
from scheduling.topology.domain.numa.cpu_topology import best_cpu_topology
from scheduling.topology.domain.numa.memory_rules import locked_memory
from scheduling.topology.selectors.claims import PlacedTopology
from servers.models import Instance, Port


@dataclass(frozen=True, slots=True)
class _Shape:
    """What flavor and image say of CPUs and memory, as GuestSpec has it."""

    cpu_topology: CpuTopology | None = None
    realtime_vcpus: str = ""
    has_locked_memory: bool = False
    fault: str = ""


def guest_spec(instance: Instance, ports: list[Port], placed: PlacedTopology | None) -> GuestSpec:
    """Everything about the guest; it was validated when it was asked for, and is hostile all the same."""
    image = instance.image
    properties = {key: str(value) for key, value in present_names(image.get("properties", {})).items()}
    extra_specs = {key: str(value) for key, value in instance.flavor.get("extra_specs", {}).items()}
    shape = _shape(instance, extra_specs, properties)
    return GuestSpec(
        uuid=str(instance.pk),
        name=instance.name,
        project_id=str(instance.project_id),
        vcpus=instance.vcpus,
        memory_mib=instance.memory_mib,
        root_gib=instance.root_gib,
        ephemeral_gib=instance.ephemeral_gib,
        swap_mib=instance.swap_mib,
        image_id=str(instance.image_id or ""),
        image_checksum=image.get("checksum_sha256", ""),
        image_size_bytes=image.get("size_bytes", 0),
        image_disk_format=image.get("disk_format", "qcow2"),
        image_properties=properties,
        extra_specs=extra_specs,
        metadata={key: str(value) for key, value in instance.metadata.items()},
        user_data_base64=instance.user_data,
        key_name=instance.key_name,
        public_key=instance.public_key,
        availability_zone=instance.availability_zone,
        ports=tuple(PortSpec(mac=port.mac, network=port.hypervisor_network) for port in ports),
        numa_topology=None if placed is None else placed.numa,
        pci_devices=() if placed is None else placed.pci_devices,
        cpu_topology=shape.cpu_topology,
        realtime_vcpus=shape.realtime_vcpus,
        has_locked_memory=shape.has_locked_memory,
        fault=shape.fault,
        launch_index=instance.launch_index,
    )


def _shape(instance: Instance, extra_specs: dict[str, str], properties: dict[str, str]) -> _Shape:
    """Never raises: one instance that contradicts itself must not keep an agent from all the others."""
    flavor = FlavorSnapshot(
        id="", name="", vcpus=instance.vcpus, memory_mib=instance.memory_mib, extra_specs=extra_specs
    )
    image = ImageSnapshot(properties=properties)
    hw_request = HwRequest(flavor, image)
    try:
        return _Shape(
            cpu_topology=best_cpu_topology(flavor, image),
            realtime_vcpus=format_cpus(cpu_rules(hw_request).realtime),
            has_locked_memory=locked_memory(hw_request),
        )
    except Invalid as error:
        return _Shape(fault=error.message)
