"""Trials for callers: what a create would do, why it would not, what would make it fit, how much room there is.

The request is looked up and checked by the rules of a create. Nothing is written, claimed, or counted against quota.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from controlplane.identity.domain import Caller
from controlplane.identity.policy import require
from controlplane.infra.answer_budget import answer_budget
from controlplane.infra.request_id import current_request_id
from controlplane.kernel.errors import Invalid, InvalidFields
from controlplane.kernel.texts import phrase as _
from controlplane.work.conf import work_options
from scheduling.destinations.selectors.inputs import scheduling_inputs
from scheduling.domain.request.schedule_request import ScheduleRequest
from scheduling.domain.snapshots import FlavorSnapshot, ImageSnapshot
from scheduling.policies.selectors.policies import attempts_allowed
from scheduling.topology.domain.pci.asked import PciRequest
from scheduling.whatif.domain.edits import NO_EDITS, FleetEdits
from scheduling.whatif.services.capacity import capacity_count
from scheduling.whatif.services.capacity_report import capacity_report
from scheduling.whatif.services.explain import schedule_explain
from scheduling.whatif.services.explain_report import answer_report
from scheduling.whatif.services.simulate import MAX_INSTANCES, policy_wanted, schedule_simulate
from scheduling.whatif.services.simulate_report import simulation_report
from servers.catalog.domain.flavor_rules import flavor_problems
from servers.catalog.selectors.flavor import flavor_for_instance, flavor_snapshot, flavor_snapshots, flavors_visible
from servers.fields import Problems, problems_found, refuse_if
from servers.images.selectors import image_asked
from servers.instances.domain.bodies import SpecBody
from servers.instances.domain.instance_rules import zone_parse
from servers.instances.selectors.scheduling_facts import fleet_facts, schedule_request
from servers.instances.services.block_devices import DisksDecided, disks_found
from servers.instances.services.config_parts import destination_problems
from servers.instances.services.nic_needs import with_nic_needs
from servers.instances.services.nics import (
    NicsDecided,
    NicsFound,
    nics_found,
)
from servers.instances.services.request_parts import (
    bus_problems,
    devices_requested,
    fit_problems,
    flavor_named,
    group_hinted,
    hints_read,
    image_named,
    problems_together,
    zone_problems,
)
from servers.models import Flavor, Image, RequestSpec

EDITS = "schedule:simulate:edits"


@dataclass(frozen=True, slots=True)
class TrialWanted:
    """What is tried. `flavor` and `image`: id or name; or, for operators, an object with the sizes or properties.

    `networks`: as a request for instances says them; None: what a request that says nothing would get, as far as that
    can be said. `policy` (a version's id or label, or a body) and `edits` are for operators. An image may be left out.
    `block_device_mapping_v2`, `host`, `hypervisor_hostname` and `security_groups` are as in a create; nothing is
    reserved, and no quota is asked.
    """

    flavor: str | Mapping[str, Any]
    image: str | Mapping[str, Any] = ""
    count: int = 1
    availability_zone: str = ""
    hints: Mapping[str, Any] = field(default_factory=dict)
    networks: object = None
    policy: str | Mapping[str, Any] | None = None
    edits: FleetEdits = NO_EDITS
    seed: int | None = None
    block_device_mapping_v2: object = None
    host: str = ""
    hypervisor_hostname: str = ""
    security_groups: Sequence[str] = ()


def trial_simulate(*, caller: Caller, wanted: TrialWanted) -> dict[str, Any]:
    """Where the request would go now: the report of `simulation_report`, redacted unless the caller is an admin.

    Raises InvalidFields naming the fields, Forbidden for edits, inline flavors and forced hosts of others.
    """
    require(caller, "schedule:simulate")
    asked, request = trial_request(caller, wanted)
    simulation = schedule_simulate(
        request=request,
        fleet_facts=fleet_facts(asked, scheduling_inputs()),
        policy=policy_wanted(wanted.policy),
        edits=wanted.edits,
        seed=wanted.seed,
    )
    return simulation_report(simulation, redacted=not caller.is_admin)


def trial_explain(
    *, caller: Caller, wanted: TrialWanted, host: str | None = None, every_rule: bool = False
) -> dict[str, Any]:
    """Why not, and what would make it fit. A host may be asked about by admins only."""
    require(caller, "schedule:explain")
    if host is not None:
        require(caller, "schedule:explain:host")
    asked, request = trial_request(caller, wanted)
    with answer_budget.spend(
        f"explain:{caller.own_project_id}", seconds_a_minute=work_options().answer_seconds_a_minute
    ):
        answer = schedule_explain(
            request=request,
            fleet_facts=fleet_facts(asked, scheduling_inputs()),
            offers=flavors_offered(caller),
            host=host,
            every_rule=every_rule,
            policy=policy_wanted(wanted.policy),
            edits=wanted.edits,
        )
    return answer_report(answer, redacted=not caller.is_admin)


def capacity_matrix(
    *,
    caller: Caller,
    flavors: Sequence[str] = (),
    zone: str | None = None,
    project_id: uuid.UUID | None = None,
    policy: str | None = None,
    name_part: str = "",
) -> dict[str, Any]:
    """How many more of each flavor (id or name; all enabled ones where none is named) fit, by zone and in all.

    `name_part` leaves, of all enabled ones, those that have it in their name.
    """
    require(caller, "capacity:read")
    named = [flavor_for_instance(caller=caller, reference=reference) for reference in flavors]
    report = capacity_count(
        flavors=[FlavorSnapshot(**found) for found in flavor_snapshots(named)] or flavors_offered(caller, name_part),
        fleet_facts=fleet_facts(None, scheduling_inputs()),
        project_id=str(project_id or ""),
        policy=policy_wanted(policy),
    )
    return capacity_report(report, zone=zone)


def capacity_imagined(*, caller: Caller, sizes: Mapping[str, Any], policy: str | None = None) -> dict[str, Any]:
    """How many of a flavor fit that is stored nowhere: its sizes and extra specs as in a create of one.

    Raises InvalidFields with everything that is wrong about it, by field.
    """
    require(caller, "capacity:read")
    fields_given = {"name": "imagined", **sizes}
    refuse_if(flavor_problems(fields_given))
    (snapshot,) = flavor_snapshots([Flavor(**fields_given)])
    facts = fleet_facts(None, scheduling_inputs())
    report = capacity_count(
        flavors=[FlavorSnapshot(**snapshot)], fleet_facts=facts, project_id="", policy=policy_wanted(policy)
    )
    return capacity_report(report)


def flavors_offered(caller: Caller, name_part: str = "") -> list[FlavorSnapshot]:
    """Flavors that the caller could ask for. One query."""
    rows = flavors_visible(caller=caller).filter(disabled=False, name__icontains=name_part)
    return [FlavorSnapshot(**found) for found in flavor_snapshots(rows)]


def trial_request(caller: Caller, wanted: TrialWanted) -> tuple[SpecBody, ScheduleRequest]:
    """The request that a create would make, for instances that exist nowhere. Raises Forbidden and Invalid."""
    has_inline = isinstance(wanted.flavor, Mapping) or isinstance(wanted.image, Mapping)
    if wanted.edits or wanted.policy or has_inline:
        require(caller, EDITS)
    if not 1 <= wanted.count <= MAX_INSTANCES:
        raise Invalid(
            _("count is a whole number from 1 to {max_instances}.", max_instances=MAX_INSTANCES), field="count"
        )
    asked = _body(caller, wanted)
    spec = RequestSpec(project_id=caller.project_id, user_id=caller.user_id, body=asked.to_dict())
    uuids = [uuid.uuid4() for _rest in range(wanted.count)]
    return asked, schedule_request(spec, uuids, current_request_id(), attempts=attempts_allowed())


def _body(caller: Caller, wanted: TrialWanted) -> SpecBody:
    """The spec's body, as a create stores it. Raises InvalidFields with everything that is wrong, by field."""
    zone, zone_reasons = zone_parse(wanted.availability_zone)
    no_zone = zone_problems(caller, zone)
    no_host = destination_problems(caller, zone, host=wanted.host, hypervisor_hostname=wanted.hypervisor_hostname)
    flavor, no_flavor = _flavor(caller, wanted.flavor)
    image, no_image = _image(caller, wanted.image)
    disks, unfit_disks = _disks(caller, wanted, flavor, image, zone.zone)
    zone, image = replace(zone, zone=zone.zone or disks.zone), disks.image or image
    group, no_group = group_hinted(caller, wanted.hints)
    hints, unfit_hints = hints_read(caller, wanted.hints)
    unfit: Problems = {}
    no_devices: Problems = {}
    devices: tuple[PciRequest, ...] = ()
    asked = FlavorSnapshot(**flavor_snapshot(flavor)) if isinstance(flavor, Flavor) else flavor
    if isinstance(flavor, Flavor) and isinstance(image, Image):
        is_named = bool(wanted.image)
        unfit = fit_problems(flavor, image, has_local_root=not disks.is_bfv, is_image_named=is_named)
    no_bus: Problems = {}
    if asked is not None and image is not None:
        properties = ImageSnapshot(properties=image.properties)
        devices, no_devices = devices_requested(asked, properties)
        no_bus = bus_problems(asked, properties, {one.disk_bus for one in disks.devices or ()})
    nics = _nics(caller, wanted)
    problems = problems_together(
        problems_found({"availability_zone": zone_reasons}),
        *(no_zone, no_host, no_flavor, no_image, unfit_disks, no_group, unfit_hints, unfit, no_bus, no_devices),
        nics.problems,
    )
    if problems or asked is None or image is None:
        raise InvalidFields(problems)
    body = SpecBody(
        flavor=asked,
        image=image_asked(image) if isinstance(image, Image) else image,
        pci_requests=devices,
        availability_zone=zone.zone,
        force_host=zone.host,
        force_node=zone.node,
        requested_host=wanted.host,
        requested_node=wanted.hypervisor_hostname,
        hints=hints,
        group_id=group.pk if group else None,
        nics=nics.decided.nics,
        block_devices=disks.devices,
    )
    return with_nic_needs(body, nics.decided)


def _disks(
    caller: Caller,
    wanted: TrialWanted,
    flavor: Flavor | FlavorSnapshot | None,
    image: Image | ImageSnapshot | None,
    zone: str,
) -> tuple[DisksDecided, Problems]:
    """The disks that are named; none where none is. They need a flavor and an image that are stored."""
    if not wanted.block_device_mapping_v2:
        return DisksDecided(), {}
    if isinstance(flavor, FlavorSnapshot) or isinstance(wanted.image, Mapping):
        text = _("Disks can be named with a flavor and an image that are stored, not with imagined ones.")
        return DisksDecided(), {"block_device_mapping_v2": [text]}
    return disks_found(
        caller,
        wanted.block_device_mapping_v2,
        flavor=flavor,
        image=image if isinstance(image, Image) else None,
        has_image=bool(wanted.image),
        zone=zone,
        count=wanted.count,
    )


def _nics(caller: Caller, wanted: TrialWanted) -> NicsFound:
    """The networks of the request. Where it says nothing and a create would have to, there are none."""
    found = nics_found(caller, networks=wanted.networks, security_groups=wanted.security_groups, count=wanted.count)
    if wanted.networks is None and (found.problems or found.refusals):
        return NicsFound(NicsDecided(), {})
    if found.refusals and not found.problems:
        raise found.refusals[0]
    return found


def _flavor(caller: Caller, wanted: str | Mapping[str, Any]) -> tuple[Flavor | FlavorSnapshot | None, Problems]:
    if isinstance(wanted, str):
        return flavor_named(caller, wanted)
    return FlavorSnapshot(**{"id": "", "name": "inline", **wanted}), {}


def _image(caller: Caller, wanted: str | Mapping[str, Any]) -> tuple[Image | ImageSnapshot | None, Problems]:
    if isinstance(wanted, str):
        return image_named(caller, wanted) if wanted else (ImageSnapshot(), {})
    return ImageSnapshot(**{"name": "inline", **wanted}), {}
