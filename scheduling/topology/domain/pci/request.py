"""What a guest asks of a host's PCI devices, by a flavor's alias or by a port."""

from collections.abc import Mapping

from computeagent.protocol.pci import DeviceType
from controlplane.kernel.errors import Invalid
from controlplane.kernel.texts import phrase as _
from scheduling.domain.snapshots import FlavorSnapshot, ImageSnapshot
from scheduling.topology.domain.flavor_keys import HwRequest, parse_whole_number
from scheduling.topology.domain.pci.alias import Alias
from scheduling.topology.domain.pci.asked import PciRequest
from scheduling.topology.domain.pci.pool import NumaPolicy

ALIAS_KEY = "pci_passthrough:alias"
AFFINITY, IMAGE_AFFINITY = "hw:pci_numa_affinity_policy", "hw_pci_numa_affinity_policy"

_TYPE_BY_VNIC = {"direct-physical": DeviceType.PF, "vdpa": DeviceType.VDPA}
REMOTE_MANAGED_VNIC = "remote-managed"


def requests_of_flavor(
    flavor: FlavorSnapshot, image: ImageSnapshot, aliases: Mapping[str, Alias]
) -> tuple[PciRequest, ...]:
    """The requests of `pci_passthrough:alias`, 'name:count[,name:count]'. Raises Invalid naming the key.

    The NUMA policy of flavor or image, if any, stands above the alias'.
    """
    text = flavor.extra_specs.get(ALIAS_KEY, "").strip()
    if not text:
        return ()
    policy = numa_policy(HwRequest(flavor, image))
    return tuple(_request(at, part, aliases, policy) for at, part in enumerate(text.split(",")))


def numa_policy(hw_request: HwRequest) -> NumaPolicy | None:
    """The PCI NUMA policy of flavor and image, which must agree. Raises Invalid naming the key."""
    flavor, image = hw_request.choices("pci_numa_affinity_policy", NumaPolicy)
    if flavor and image and flavor != image:
        raise Invalid(
            _(
                "{image_affinity}={image} of the image contradicts {affinity}={flavor}",
                image_affinity=IMAGE_AFFINITY,
                image=image,
                affinity=AFFINITY,
                flavor=flavor,
            ),
            field=IMAGE_AFFINITY,
        )
    return flavor or image


def request_of_port(
    *,
    request_id: str,
    vnic_type: str,
    physical_network: str = "",
    trusted: bool = False,
    policy: NumaPolicy | None = None,
) -> PciRequest:
    """One device for a port of vnic type direct, direct-physical, macvtap, vdpa or remote-managed."""
    spec = {"remote_managed": "true"} if vnic_type == REMOTE_MANAGED_VNIC else {}
    if physical_network:
        spec["physical_network"] = physical_network
    if trusted:
        spec["trusted"] = "true"
    if vnic_type in _TYPE_BY_VNIC:
        spec["dev_type"] = _TYPE_BY_VNIC[vnic_type]
    return PciRequest(1, (tuple(sorted(spec.items())),), numa_policy=policy, request_id=request_id)


def _request(at: int, part: str, aliases: Mapping[str, Alias], policy: NumaPolicy | None) -> PciRequest:
    name, separator, count = (each.strip() for each in part.partition(":"))
    if not name or not separator:
        raise Invalid(
            _("{alias_key}: {part!r} is not of the form name:count", alias_key=ALIAS_KEY, part=part.strip()),
            field=ALIAS_KEY,
        )
    alias = aliases.get(name)
    if alias is None:
        raise Invalid(_("{alias_key}: there is no alias {name!r}", alias_key=ALIAS_KEY, name=name), field=ALIAS_KEY)
    return PciRequest(
        parse_whole_number(count, ALIAS_KEY), alias.specs, name, policy or alias.numa_policy, f"flavor-{at}"
    )
