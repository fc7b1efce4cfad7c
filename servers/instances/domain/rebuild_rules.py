"""What a rebuild may change of an instance. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from controlplane.kernel.errors import Invalid
from controlplane.kernel.texts import phrase as _
from scheduling.domain.snapshots import FlavorSnapshot, ImageSnapshot
from scheduling.topology.domain.numa.constraint import guest_topology
from servers.fields import Problems, Reasons, name_reasons, problems_found, text_reasons
from servers.images.domain.signatures import certificate_ids_reasons
from servers.instances.domain.guest_config_rules import (
    access_address_reasons,
    admin_pass_reasons,
    fqdn_reasons,
    personality_reasons,
)
from servers.instances.domain.instance_rules import metadata_reasons, user_data_reasons

PCI_ALIAS, PCI_POLICY = "pci_passthrough:alias", "hw_pci_numa_affinity_policy"


@dataclass(frozen=True, slots=True)
class InstanceRebuild:
    """What a caller asks for. `image` by id or name, empty for the one that the instance has; None leaves as it is.

    `user_data` in base64; empty user data and an empty key name take away what there is. `preserve_ephemeral` is
    refused, since no hypervisor here keeps an ephemeral disk through a rebuild. The guest finds `admin_pass` on its
    config drive with the files of `personality`, and both are forgotten when the guest runs. `disk_config`: AUTO or
    MANUAL; empty is what the image says, else as before. No `trusted_image_certificates` (an empty list) takes away
    those that there are. `reimage_boot_volume`: the volume that the instance boots
    from is made anew of the image, which is named then; without it such an instance is not rebuilt.
    """

    image: str = ""
    name: str | None = None
    description: str | None = None
    metadata: Mapping[str, object] | None = None
    user_data: str | None = None
    key_name: str | None = None
    preserve_ephemeral: bool = False
    admin_pass: str = field(default="", repr=False)
    personality: Sequence[Mapping[str, str]] = field(default=(), repr=False)
    hostname: str | None = None
    access_ip_v4: str | None = None
    access_ip_v6: str | None = None
    disk_config: str = ""
    trusted_image_certificates: Sequence[str] | None = None
    reimage_boot_volume: bool = False


def rebuild_problems(wanted: InstanceRebuild) -> Problems:
    """Everything that is wrong with the words of the request, by field; what it names is not looked up."""
    return problems_found(
        {
            "name": [] if wanted.name is None else name_reasons(wanted.name),
            "description": [] if wanted.description is None else text_reasons(wanted.description, maximum=255),
            "metadata": [] if wanted.metadata is None else metadata_reasons(wanted.metadata),
            "user_data": user_data_reasons(wanted.user_data) if wanted.user_data else [],
            "admin_pass": admin_pass_reasons(wanted.admin_pass) if wanted.admin_pass else [],
            "personality": personality_reasons(wanted.personality) if wanted.personality else [],
            "hostname": [] if wanted.hostname is None else fqdn_reasons(wanted.hostname),
            "access_ip_v4": access_address_reasons(wanted.access_ip_v4 or "", 4),
            "access_ip_v6": access_address_reasons(wanted.access_ip_v6 or "", 6),
            "trusted_image_certificates": certificate_ids_reasons(wanted.trusted_image_certificates or ()),
            "preserve_ephemeral": [_("No hypervisor here keeps an ephemeral disk through a rebuild.")]
            if wanted.preserve_ephemeral
            else [],
        }
    )


def placement_reasons(flavor: FlavorSnapshot, old: ImageSnapshot, new: ImageSnapshot) -> Reasons:
    """Why the instance's place on its host is not one for the new image: its cells, CPUs, pages and devices stay.

    Nova refuses the same (`ImageNUMATopologyRebuildConflict`).
    """
    reasons = []
    try:
        before, after = guest_topology(flavor, old), guest_topology(flavor, new)
    except Invalid:
        return []  # what contradicts itself is said by the rules of flavor and image
    if before != after:
        given, taken, changed = (
            _("It gives the guest a NUMA topology, and a rebuild keeps the place that the guest has on its host."),
            _("It takes away the guest's NUMA topology, and a rebuild keeps the place that the guest has on its host."),
            _("It changes the NUMA topology, and a rebuild keeps the place that the guest has on its host."),
        )
        reasons.append(given if before is None else taken if after is None else changed)
    if flavor.extra_specs.get(PCI_ALIAS) and old.properties.get(PCI_POLICY) != new.properties.get(PCI_POLICY):
        reasons.append(
            _("It changes {pci_policy}, and a rebuild keeps the PCI devices that the guest has.", pci_policy=PCI_POLICY)
        )
    return reasons
