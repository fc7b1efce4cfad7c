"""What a request for instances names, looked up and checked: the same rules for a create and for a dry run of it."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from controlplane.identity.domain import Caller
from controlplane.identity.policy import require
from controlplane.kernel.errors import Invalid
from controlplane.kernel.ids import parse_uuid
from scheduling.domain.request.image_property_names import present_names
from scheduling.domain.snapshots import FlavorSnapshot, ImageSnapshot
from scheduling.fleet.selectors.hosts import host_exists, node_exists
from scheduling.fleet.selectors.zones import zone_exists, zone_list
from scheduling.topology.domain.pci.asked import PciRequest
from scheduling.topology.selectors.pci_aliases import pci_requests_of
from servers.catalog.selectors.flavor import flavor_snapshot
from servers.catalog.selectors.server_group import server_group_for_instance
from servers.instances.domain.flavor_image import flavor_image_problems
from servers.instances.domain.hint_rules import TEXT_HINTS, carried_hints, text_hints
from servers.instances.domain.instance_rules import ZoneRequest, image_fit_problems
from servers.instances.domain.not_provided import not_provided
from servers.instances.selectors.instances import instances_unknown
from servers.instances.services.legacy_group import legacy_group_hinted
from servers.models import Flavor, Image, ServerGroup

T = TypeVar("T")
HINTS = ("group", "same_host", "different_host", *TEXT_HINTS)


def found_or_problem(problems: dict[str, list[str]], find: Callable[[], T]) -> T | None:
    """What `find` finds; None when it raises Invalid, whose reason is added to `problems` by field."""
    try:
        return find()
    except Invalid as error:
        problems.setdefault(error.field or "body", []).append(error.message)
        return None


def group_hinted(caller: Caller, hints: Mapping[str, Any]) -> ServerGroup | None:
    """The group that the hint `group` names, if it is there; a legacy one may not be stored yet. Raises Invalid."""
    if "group" not in hints:
        return None
    reference = str(hints["group"])
    legacy = legacy_group_hinted(caller=caller, name=reference)
    return legacy or server_group_for_instance(caller=caller, reference=reference)


def fit_problems(flavor: Flavor, image: Image) -> dict[str, list[str]]:
    """What the image needs and the flavor does not give, and where the two contradict each other."""
    problems = image_fit_problems(
        min_ram_mib=image.min_ram_mib,
        min_disk_gib=image.min_disk_gib,
        size_bytes=image.size_bytes,
        virtual_size_bytes=image.virtual_size_bytes,
        flavor_memory_mib=flavor.memory_mib,
        flavor_root_gib=flavor.root_gib,
    )
    asked, properties = FlavorSnapshot(**flavor_snapshot(flavor)), ImageSnapshot(properties=image.properties)
    contradictions = flavor_image_problems(asked, properties)
    contradictions += not_provided(asked.extra_specs, present_names(properties.properties))
    problems |= {"image": contradictions} if contradictions else {}
    devices_requested(asked, properties, problems)
    return problems


def devices_requested(
    flavor: FlavorSnapshot, image: ImageSnapshot, problems: dict[str, list[str]]
) -> tuple[PciRequest, ...]:
    """The PCI devices that the flavor asks for; an unknown alias is a problem of it."""
    try:
        return pci_requests_of(flavor, image)
    except Invalid as error:
        problems.setdefault("flavor", []).append(f"{error.message}.")
        return ()


def zone_problems(caller: Caller, zone: ZoneRequest) -> dict[str, list[str]]:
    """A zone, host or node that is not there. Raises Forbidden for a host or node, unless the caller may force one."""
    if zone.host or zone.node:
        require(caller, "instances:create:forced_host")
    if zone.host and not host_exists(host=zone.host):
        return {"availability_zone": [f"There is no host {zone.host!r:.80}."]}
    if zone.node and not node_exists(node=zone.node, host=zone.host):
        where = f" on host {zone.host!r:.80}" if zone.host else ""
        return {"availability_zone": [f"There is no node {zone.node!r:.80}{where}."]}
    if zone.zone and not zone_exists(name=zone.zone):
        known = ", ".join(one.name for one in zone_list())
        return {"availability_zone": [f"There is no zone {zone.zone!r:.80}; there are: {known}."]}
    return {}


def hints_checked(
    caller: Caller, hints: Mapping[str, Any], problems: dict[str, list[str]]
) -> dict[str, tuple[str, ...]]:
    """Ids of instances, or of text, by hint; what is wrong is added to `problems`. Unknown ones are carried."""
    found, unfit = carried_hints(hints, HINTS)
    problems |= {f"hints.{key:.80}": reasons for key, reasons in unfit.items()}
    for key in ("same_host", "different_host"):
        if key in hints:
            found[key], reasons = _servers(caller, hints[key])
            problems |= {f"hints.{key}": reasons} if reasons else {}
    texts, wrong = text_hints(hints)
    problems |= {f"hints.{key}": reasons for key, reasons in wrong.items()}
    return {key: tuple(values) for key, values in found.items()} | {key: (text,) for key, text in texts.items()}


def _servers(caller: Caller, value: Any) -> tuple[list[str], list[str]]:
    texts = value if isinstance(value, list) else [value]
    parsed = [parse_uuid(text) if isinstance(text, str) else None for text in texts]
    if None in parsed or not parsed or len(parsed) > 1000:
        return [], ["Must be the id of an instance, or a list of ids."]
    ids = [one for one in parsed if one is not None]
    unknown = instances_unknown(caller=caller, ids=ids)
    if unknown:
        return [], [f"There is no instance {unknown[0]}."]
    return [str(one) for one in ids], []
