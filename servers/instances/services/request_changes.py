"""A request that found no host, asked for otherwise: another flavor or zone, fewer hints, by the rules of a create."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from controlplane.identity.domain import Caller
from controlplane.kernel.errors import InvalidFields
from controlplane.kernel.texts import phrase as _
from scheduling.domain.snapshots import FlavorSnapshot
from scheduling.topology.domain.pci.asked import PciRequest
from servers.catalog.selectors.flavor import flavor_snapshot
from servers.fields import Problems, problems_found
from servers.instances.domain.bodies import SpecBody
from servers.instances.domain.instance_rules import ZoneRequest
from servers.instances.domain.request_changes import RequestChanges, devices_with
from servers.instances.services.request_parts import (
    devices_requested,
    flavor_named,
    image_problems,
    problems_together,
    zero_disk_check,
    zone_problems,
)
from servers.instances.services.volume_zones import zone_with_volumes
from servers.models import Flavor, Image


@dataclass(frozen=True, slots=True)
class RequestChanged:
    """The request as it is asked for now, and the columns of the instance that are others by it."""

    body: SpecBody
    columns: Mapping[str, Any]


def request_changed(caller: Caller, asked: SpecBody, changes: RequestChanges, *, image: Image | None) -> RequestChanged:
    """`image`: what the root disk is made of; None where that is a volume. Raises InvalidFields with everything that is
    wrong, by field, and Forbidden.
    """
    body, columns, problems = asked, dict[str, Any](), Problems()
    if changes.flavor:
        flavor, no_flavor = flavor_named(caller, changes.flavor)
        problems = problems_together(problems, no_flavor)
        if flavor is not None:
            body, columns, unfit = _with_flavor(caller, body, flavor, image)
            problems = problems_together(problems, unfit)
    if changes.availability_zone is not None:
        no_zone = zone_problems(caller, ZoneRequest(zone=changes.availability_zone))
        volume_ids = [one.source_id for one in body.block_devices or () if one.is_named_volume and one.source_id]
        zone, apart = zone_with_volumes(changes.availability_zone, volume_ids)
        problems = problems_together(problems, no_zone or apart)
        body = replace(body, availability_zone=zone)
    problems = problems_together(problems, _unknown_hints(body, changes))
    if problems:
        raise InvalidFields(problems)
    left = {name: values for name, values in body.hints.items() if name not in changes.without_hints}
    return RequestChanged(replace(body, hints=left), columns)


def _with_flavor(
    caller: Caller, asked: SpecBody, flavor: Flavor, image: Image | None
) -> tuple[SpecBody, dict[str, Any], Problems]:
    stored = flavor_snapshot(flavor)
    wanted = FlavorSnapshot(**stored)
    if not asked.is_bfv:
        zero_disk_check(caller, flavor)
    unfit = image_problems(wanted, image, has_local_root=not asked.is_bfv) if image is not None else {}
    devices, no_devices = devices_requested(wanted, asked.image)
    disks, no_disks = devices_with(asked.block_devices, asked.flavor, wanted)
    body = replace(asked, flavor=wanted, pci_requests=(*devices, *_of_ports(asked)), block_devices=disks)
    columns = {
        "flavor": stored,
        "flavor_id": flavor.pk,
        "vcpus": flavor.vcpus,
        "memory_mib": flavor.memory_mib,
        "root_gib": 0 if asked.is_bfv else flavor.root_gib,
        "ephemeral_gib": flavor.ephemeral_gib,
        "swap_mib": flavor.swap_mib,
    }
    # The flavor alone is another one: it is what an image cannot have, too.
    against = [
        reason for reasons in (*unfit.values(), *no_devices.values(), [no_disks]) for reason in reasons if reason
    ]
    return body, columns, problems_found({"flavor": against})


def _of_ports(asked: SpecBody) -> tuple[PciRequest, ...]:
    """The devices that its ports ask for, which have no alias: those of a flavor do."""
    return tuple(one for one in asked.pci_requests if not one.alias)


def _unknown_hints(asked: SpecBody, changes: RequestChanges) -> Problems:
    unknown = [name for name in changes.without_hints if name not in asked.hints]
    texts = [
        _(
            "The request has no hint {name!r:.80}; its hints are: {hints}.",
            name=name,
            hints=", ".join(asked.hints) or "none",
        )
        for name in unknown
    ]
    return problems_found({"without_hints": texts})
