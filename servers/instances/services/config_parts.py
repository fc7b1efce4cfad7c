"""What a request says of how its guests are configured is checked here, against the image and the installation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controlplane.identity.domain import Caller
from controlplane.identity.policy import require
from controlplane.kernel.errors import Invalid
from controlplane.kernel.texts import phrase as _
from scheduling.domain.request.image_property_names import present_names
from scheduling.fleet.selectors.hosts import host_exists, node_exists
from servers.catalog.services.quota import owner_quota_check
from servers.conf import server_options
from servers.fields import Problems, problems_found, refuse_if
from servers.images.domain.signatures import certificate_ids_reasons
from servers.images.services.certificates import trusted_signature_require
from servers.instances.domain.guest_config_rules import (
    METADATA_BRINGS,
    config_drive_decided,
    disk_config_decided,
    personality_amounts,
    personality_reasons,
)
from servers.instances.domain.instance_rules import ZoneRequest
from servers.instances.services.nics import NicsDecided
from servers.models import Image
from servers.networks.domain.names import VnicType
from servers.networks.selectors.subnets import metadata_is_answered

NOT_OF_VOLUMES = _("Image certificates say nothing of a volume, from which this instance boots.")
DESTINATION = "instances:create:requested_destination"


@dataclass(frozen=True, slots=True)
class ConfigDecided:
    """What came of request, image and settings: whether there is a config drive, and who sizes the root partition."""

    config_drive: bool
    disk_config: str


def config_decided(
    *, config_drive: bool | None, disk_config: str, needs: Mapping[str, Any], image: Image | None, nics: NicsDecided
) -> tuple[ConfigDecided, Problems]:
    """`needs`: fields that a config drive brings to the guest, with their values; empty ones need nothing, and some
    none where the guest will reach the metadata service by one of `nics`.
    """
    needed = [name for name, value in needs.items() if value]
    if config_drive is False and METADATA_BRINGS & set(needed) and _has_metadata(nics):
        needed = [name for name in needed if name not in METADATA_BRINGS]
    if any(port.vnic_type != VnicType.NORMAL for port in nics.ports.values()):
        needed.append("networks")  # no DHCP and no metadata service of ours hears such a card
    properties = present_names(image.properties) if image else {}
    has_drive, no_drive = config_drive_decided(
        config_drive,
        is_forced=server_options().force_config_drive,
        image_policy=str(properties.get("img_config_drive", "")),
        needs=needed,
    )
    sized, unsized = disk_config_decided(disk_config, str(properties.get("hw_auto_disk_config", "")))
    return ConfigDecided(has_drive, sized), problems_found({"config_drive": no_drive, "disk_config": unsized})


def _has_metadata(nics: NicsDecided) -> bool:
    given = [port.pk for port in nics.ports.values() if port.vnic_type == VnicType.NORMAL]
    return metadata_is_answered(networks=[nic.network_id for nic in nics.nics if nic.port_id is None], ports=given)


def destination_problems(caller: Caller, zone: ZoneRequest, *, host: str, hypervisor_hostname: str) -> Problems:
    """What is wrong with the host or node that the request would like; it stays subject to all filters.

    Raises Forbidden, unless the caller may name one, and Invalid beside a forced one.
    """
    if not (host or hypervisor_hostname):
        return {}
    require(caller, DESTINATION)
    field = "host" if host else "hypervisor_hostname"
    if zone.is_forced:
        said = _("host and hypervisor_hostname go through the filters, zone:host:node past them; say one of the two.")
        raise Invalid(said, field=field)
    if host and not host_exists(host=host):
        return {"host": [_("Compute host {host!r:.80} could not be found.", host=host)]}
    if hypervisor_hostname and not node_exists(node=hypervisor_hostname, host=host):
        where = _(" on host {host!r:.80}", host=host) if host else ""
        return {
            "hypervisor_hostname": [
                _(
                    "Compute host {hypervisor_hostname!r:.80} could not be found{where}.",
                    hypervisor_hostname=hypervisor_hostname,
                    where=where,
                )
            ]
        }
    return {}


def injected_files_check(caller: Caller, personality: Sequence[Mapping[str, str]]) -> None:
    """Raises QuotaExceeded for too many files, or one that is too long or has too long a path."""
    if personality and not personality_reasons(personality):
        asked = personality_amounts(personality)
        owner_quota_check(project_id=caller.project_id, user_id=caller.user_id, asked=asked, field="personality")


def metadata_check(caller: Caller, metadata: Mapping[str, object]) -> None:
    """Raises QuotaExceeded for too many items."""
    asked = {"metadata_items": len(metadata)}
    owner_quota_check(project_id=caller.project_id, user_id=caller.user_id, asked=asked, field="metadata")


def trusted_certificates(
    caller: Caller, image: Image, asked: Sequence[str], *, is_bfv: bool = False
) -> tuple[str, ...]:
    """The certificates by which the image had to be signed, and was. Raises Invalid and Forbidden."""
    if is_bfv and asked:
        raise Invalid(NOT_OF_VOLUMES, field="trusted_image_certificates")
    if is_bfv:
        return ()
    if asked:
        require(caller, "instances:create:trusted_certs")
        refuse_if({"trusted_image_certificates": certificate_ids_reasons(asked)})
    return trusted_signature_require(image, asked, project_id=caller.project_id)
