"""What a request for instances names is looked up and checked here, by the same rules for a create and its dry run.

Every function returns what it found and what is wrong, by field, so that a caller learns of all problems at once.
"""

from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

from computeagent.protocol.guest_disks import disk_bus_of
from computeagent.protocol.guest_machine import MACHINE
from controlplane.identity.domain import Caller
from controlplane.identity.policy import allows, require
from controlplane.kernel.errors import Forbidden, Invalid
from controlplane.kernel.ids import parse_uuid
from controlplane.kernel.texts import phrase as _
from scheduling.domain.request.image_property_names import present_words
from scheduling.domain.snapshots import FlavorSnapshot, ImageSnapshot
from scheduling.fleet.selectors.guest_machines import machines_of_host, machines_reported
from scheduling.fleet.selectors.hosts import host_exists, node_exists
from scheduling.fleet.selectors.zones import zone_exists, zone_list
from scheduling.topology.domain.pci.asked import PciRequest
from scheduling.topology.selectors.pci_aliases import pci_requests_of
from servers.catalog.selectors.flavor import flavor_for_instance, flavor_snapshot
from servers.catalog.selectors.keypair import keypair_for_instance
from servers.catalog.selectors.server_group import server_group_for_instance
from servers.fields import Problems, Reasons, problems_found
from servers.images.domain.boot_files import boot_contradictions
from servers.images.selectors import image_for_instance
from servers.instances.domain.flavor_image import flavor_image_problems, problems_by_asker
from servers.instances.domain.hint_rules import TEXT_HINTS, carried_hints, text_hints
from servers.instances.domain.instance_rules import ZoneRequest, image_fit_problems
from servers.instances.domain.machines_reported import Machines, disk_bus_problems, machine_problems
from servers.instances.domain.not_provided import not_provided
from servers.instances.selectors.instances import instances_unknown
from servers.instances.services.legacy_group import legacy_group_hinted
from servers.models import Flavor, Image, KeyPair, ServerGroup

DISKS = "block_device_mapping_v2"
HINTS = ("group", "same_host", "different_host", *TEXT_HINTS)


def problems_together(*several: Problems) -> Problems:
    """All these problems by field. The order counts: the first one is the message of an InvalidFields."""
    together: Problems = {}
    for problems in several:
        for field, reasons in problems.items():
            together.setdefault(field, []).extend(reasons)
    return together


def flavor_named(caller: Caller, reference: str) -> tuple[Flavor | None, Problems]:
    """The flavor with this id or name; None with the problem where the caller cannot use it."""
    try:
        return flavor_for_instance(caller=caller, reference=reference), {}
    except Invalid as error:
        return None, _problem_of(error)


def image_named(caller: Caller, reference: str) -> tuple[Image | None, Problems]:
    """The image with this id or name; None with the problem where the caller cannot use it."""
    try:
        return image_for_instance(caller=caller, reference=reference, needs_bytes=False), {}
    except Invalid as error:
        return None, _problem_of(error)


def keypair_named(caller: Caller, name: str) -> tuple[KeyPair | None, Problems]:
    """The caller's key pair of this name; None, without a problem, where the request names no key pair."""
    try:
        return (keypair_for_instance(user_id=caller.user_id, name=name) if name else None), {}
    except Invalid as error:
        return None, _problem_of(error)


def group_hinted(caller: Caller, hints: Mapping[str, Any]) -> tuple[ServerGroup | None, Problems]:
    """The group that the hint `group` names; None, without a problem, where no hint does.

    A legacy group may not be stored yet: `legacy_group_store` stores it.
    """
    if "group" not in hints:
        return None, {}
    reference = str(hints["group"])
    try:
        legacy = legacy_group_hinted(caller=caller, name=reference)
        return legacy or server_group_for_instance(caller=caller, reference=reference), {}
    except Invalid as error:
        return None, _problem_of(error)


def _problem_of(error: Invalid) -> Problems:
    return {error.field or "body": [error.message]}


def fit_problems(flavor: Flavor, image: Image, *, has_local_root: bool, is_image_named: bool) -> Problems:
    """What the image needs and the flavor does not give, and where the two contradict each other. `is_image_named`: the
    request names the image itself, and not a disk that is, or is to be, made of it.
    """
    found = image_problems(FlavorSnapshot(**flavor_snapshot(flavor)), image, has_local_root=has_local_root)
    return found if is_image_named else {DISKS if field == "image" else field: said for field, said in found.items()}


def image_problems(asked: FlavorSnapshot, image: Image, *, has_local_root: bool) -> Problems:
    """The same for a flavor as it was when an instance was asked for. A root disk that is a volume has a size of its
    own.
    """
    judged = partial(_contradictions, asked)
    contradictions = problems_by_asker(judged, image.properties)
    contradictions.setdefault("image", []).extend(_given_by_no_host(present_words(image.properties)))
    too_small = image_fit_problems(
        min_ram_mib=image.min_ram_mib,
        min_disk_gib=image.min_disk_gib,
        size_bytes=image.size_bytes,
        virtual_size_bytes=image.virtual_size_bytes,
        flavor_memory_mib=asked.memory_mib,
        flavor_root_gib=asked.root_gib if has_local_root else 0,
    )
    return problems_together(too_small, problems_found(contradictions))


def _contradictions(asked: FlavorSnapshot, properties: Mapping[str, Any]) -> list[str]:
    """What is wrong with flavor and image together, whatever hosts there are."""
    return [
        *flavor_image_problems(asked, ImageSnapshot(properties=properties)),
        *not_provided(asked.extra_specs, present_words(properties)),
        *boot_contradictions(properties),
    ]


def bus_problems(flavor: FlavorSnapshot, image: ImageSnapshot, buses: Collection[str]) -> Problems:
    """Buses of disks that the request names and that go with no machine of its image; those of the image itself are
    judged with it.
    """
    properties = present_words(image.properties)
    named = {bus for bus in buses if bus} - {disk_bus_of(properties)}
    if not named:
        return {}
    found = disk_bus_problems(flavor.extra_specs, properties, named, _machines_of_hosts())
    return problems_found({DISKS: list(found)})


def _given_by_no_host(properties: Mapping[str, str]) -> list[str]:
    """Looked up only for an image that names a machine."""
    if not properties.get(MACHINE):
        return []
    return list(machine_problems(properties, _machines_of_hosts()))


def machines_at(host: str) -> list[Machines]:
    """The machines that this host says that it has; none where it says nothing."""
    return _machines(machines_of_host(host=host))


def _machines_of_hosts() -> list[list[Machines]]:
    return [_machines(each) for each in machines_reported()]


def _machines(report: list[dict[str, Any]]) -> list[Machines]:
    return [Machines(**{key: frozenset(of) for key, of in one.items()}) for one in report]


def devices_requested(flavor: FlavorSnapshot, image: ImageSnapshot) -> tuple[tuple[PciRequest, ...], Problems]:
    """The PCI devices that the flavor asks for. An unknown alias is a problem of it."""
    try:
        return pci_requests_of(flavor, image), {}
    except Invalid as error:
        return (), {"flavor": [f"{error.message}."]}


def zero_disk_check(caller: Caller, flavor: Flavor) -> None:
    """Nova's BootFromVolumeRequiredForZeroDiskFlavor, with the default of its rule zero_disk_flavor: such a disk takes
    an image of any size and claims nothing for it. Raises Forbidden.
    """
    if flavor.root_gib == 0 and not allows(caller, "instances:create:zero_disk_flavor"):
        raise Forbidden(
            _(
                "Flavor {flavor} has a root disk of 0 GiB, as large as the image: only "
                "administrators may use it. Boot from a volume.",
                flavor=flavor.name,
            ),
            field="flavor",
        )


def zone_problems(caller: Caller, zone: ZoneRequest) -> Problems:
    """The problem of a zone, host or node that does not exist; an empty request has none.

    Raises Forbidden for a host or node, unless the caller may force one.
    """
    if zone.host or zone.node:
        require(caller, "instances:create:forced_host")
    if zone.host and not host_exists(host=zone.host):
        return {"availability_zone": [_("There is no host {host!r:.80}.", host=zone.host)]}
    if zone.node and not node_exists(node=zone.node, host=zone.host):
        where = _(" on host {host!r:.80}", host=zone.host) if zone.host else ""
        return {"availability_zone": [_("There is no node {node!r:.80}{where}.", node=zone.node, where=where)]}
    if zone.zone and not zone_exists(name=zone.zone):
        known = ", ".join(one.name for one in zone_list())
        return {
            "availability_zone": [_("There is no zone {zone!r:.80}; there are: {known}.", zone=zone.zone, known=known)]
        }
    return {}


def hints_read(caller: Caller, hints: Mapping[str, Any]) -> tuple[dict[str, tuple[str, ...]], Problems]:
    """The values of each hint: ids of instances, text, or what plug-ins read. `group` is left out."""
    found, unfit = carried_hints(hints, HINTS)
    problems = {f"hints.{key:.80}": reasons for key, reasons in unfit.items()}
    for key in ("same_host", "different_host"):
        if key in hints:
            found[key], reasons = _servers(caller, hints[key])
            problems |= problems_found({f"hints.{key}": reasons})
    texts, wrong = text_hints(hints)
    problems |= {f"hints.{key}": reasons for key, reasons in wrong.items()}
    return {key: tuple(values) for key, values in found.items()} | {
        key: (text,) for key, text in texts.items()
    }, problems


def _servers(caller: Caller, value: Any) -> tuple[list[str], Reasons]:
    texts = value if isinstance(value, list) else [value]
    parsed = [parse_uuid(text) if isinstance(text, str) else None for text in texts]
    if None in parsed or not parsed or len(parsed) > 1000:
        return [], [_("Must be the id of an instance, or a list of ids.")]
    ids = [one for one in parsed if one is not None]
    unknown = instances_unknown(caller=caller, ids=ids)
    if unknown:
        return [], [_("There is no instance {unknown}.", unknown=unknown[0])]
    return [str(one) for one in ids], []
