"""From an instance's row to what a driver needs to make the guest."""

from computeagent.conductor import GuestFacts, GuestSpec, PortSpec
from servers.models import Instance, Port
from servers.services.build_outcome import GuestState


def guest_spec(instance: Instance, ports: list[Port]) -> GuestSpec:
    """Everything about the guest; it was validated when it was asked for, and is hostile all the same."""
    image = instance.image
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
        image_properties={key: str(value) for key, value in image.get("properties", {}).items()},
        extra_specs={key: str(value) for key, value in instance.flavor.get("extra_specs", {}).items()},
        metadata={key: str(value) for key, value in instance.metadata.items()},
        user_data_base64=instance.user_data,
        key_name=instance.key_name,
        public_key=instance.public_key,
        availability_zone=instance.availability_zone,
        ports=tuple(PortSpec(mac=port.mac, network=port.hypervisor_network) for port in ports),
    )


def guest_state(facts: GuestFacts) -> GuestState:
    """What the agent says of a guest, as services take it."""
    return GuestState(
        power_state=facts.power_state.value,
        addresses={network: list(addresses) for network, addresses in facts.addresses.items()},
        console_host=facts.vnc_host,
        console_port=facts.vnc_port,
    )
