"""Create: everything is checked, then quota and rows are written in one transaction; the conductor does the rest."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.db import transaction

from controlplane.identity.domain import Caller
from controlplane.identity.policy import allows, require
from controlplane.infra.request_id import current_request_id
from controlplane.kernel.errors import Forbidden, InvalidFields
from controlplane.work.work import CONDUCTOR_QUEUE, NewWork, work_create
from scheduling.domain.snapshots import FlavorSnapshot, ImageSnapshot
from scheduling.topology.domain.pci.asked import PciRequest
from servers.catalog.selectors.flavor import flavor_snapshot
from servers.catalog.services.quota import quota_count_allowed, quota_lock
from servers.catalog.services.server_group import server_group_members_add
from servers.conf import server_options
from servers.fields import problems_found
from servers.images.selectors import image_asked, image_snapshot
from servers.instances.domain.bodies import InstanceBody, SpecBody
from servers.instances.domain.instance_rules import (
    ALL_OR_NOTHING,
    BEST_EFFORT,
    ZoneRequest,
    batch_reasons,
    hostname_from_name,
    instance_names,
    instance_problems,
    zone_parse,
)
from servers.instances.selectors.pending import pending_instance
from servers.instances.services.hints import requests_changed
from servers.instances.services.legacy_group import legacy_group_store
from servers.instances.services.request_parts import (
    devices_requested,
    fit_problems,
    flavor_named,
    group_hinted,
    hints_read,
    image_named,
    keypair_named,
    problems_together,
    zone_problems,
)
from servers.instances.work_kinds import SCHEDULE_AND_BUILD
from servers.models import BuildRequest, Flavor, Image, Instance, InstanceMapping, KeyPair, RequestSpec, ServerGroup


@dataclass(frozen=True, slots=True)
class InstanceCreate:
    """What a caller asks for. `flavor` and `image` by id or name; `user_data` in base64; counts for a batch.

    `batch`: all_or_nothing, or best_effort: as many as find a host, min_count at least; the others end in ERROR.
    """

    name: str
    flavor: str
    image: str
    min_count: int = 1
    max_count: int | None = None
    availability_zone: str = ""
    hints: Mapping[str, Any] = field(default_factory=dict)
    key_name: str = ""
    user_data: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    tags: Sequence[Any] = ()
    description: str = ""
    batch: str = ALL_OR_NOTHING


@dataclass(frozen=True, slots=True)
class _Parts:
    """The things that the request names, as they were found."""

    flavor: Flavor
    image: Image
    zone: ZoneRequest
    keypair: KeyPair | None
    group: ServerGroup | None
    hints: Mapping[str, tuple[str, ...]]
    pci_requests: tuple[PciRequest, ...]


def instances_create(*, caller: Caller, wanted: InstanceCreate) -> list[Instance]:
    """Accept a batch: between min_count and max_count instances, as quota allows, in state BUILD.

    Nothing is written unless all is right. Raises InvalidFields, Forbidden or QuotaExceeded.
    """
    require(caller, "instances:create")
    parts = _found(caller, wanted)
    with transaction.atomic():
        quota_lock(caller.project_id)
        count = quota_count_allowed(
            project_id=caller.project_id,
            min_count=wanted.min_count,
            max_count=wanted.max_count or wanted.min_count,
            vcpus=parts.flavor.vcpus,
            memory_mib=parts.flavor.memory_mib,
        )
        if parts.group is not None:
            parts = replace(parts, group=legacy_group_store(caller=caller, group=parts.group))
        requests = _rows_write(caller, wanted, parts, count)
        deadline_s = server_options().build_deadline_s
        work_create(NewWork(CONDUCTOR_QUEUE, SCHEDULE_AND_BUILD, requests[0].reservation_id, deadline_s))
    return [pending_instance(request) for request in requests]


def instances_create_check(*, caller: Caller, wanted: InstanceCreate) -> None:
    """Raise what `instances_create` would raise now: the same checks, with nothing written and nothing held.

    Quota is checked last, so that QuotaExceeded means that all else is right.
    """
    require(caller, "instances:create")
    parts = _found(caller, wanted)
    quota_count_allowed(
        project_id=caller.project_id,
        min_count=wanted.min_count,
        max_count=wanted.max_count or wanted.min_count,
        vcpus=parts.flavor.vcpus,
        memory_mib=parts.flavor.memory_mib,
    )


def _found(caller: Caller, wanted: InstanceCreate) -> _Parts:
    """What the request names. Raises InvalidFields with everything that is wrong, by field, and Forbidden."""
    zone, _ = zone_parse(wanted.availability_zone)  # a text of another form is a problem among those of the words
    flavor, no_flavor = flavor_named(caller, wanted.flavor)
    image, no_image = image_named(caller, wanted.image)
    keypair, no_keypair = keypair_named(caller, wanted.key_name)
    group, no_group = group_hinted(caller, wanted.hints)
    hints, unfit_hints = hints_read(caller, wanted.hints)
    problems = problems_together(
        instance_problems(
            name=wanted.name,
            metadata=wanted.metadata,
            tags=wanted.tags,
            user_data=wanted.user_data,
            min_count=wanted.min_count,
            max_count=wanted.min_count if wanted.max_count is None else wanted.max_count,
            description=wanted.description,
            availability_zone=wanted.availability_zone,
        ),
        problems_found({"batch": batch_reasons(wanted.batch)}),
        *(no_flavor, no_image, no_keypair, no_group, unfit_hints),
        zone_problems(caller, zone),
    )
    if flavor and flavor.root_gib == 0 and not allows(caller, "instances:create:zero_disk_flavor"):
        # It takes an image of any size and claims no disk for it; Nova's rule zero_disk_flavor has the same default.
        raise Forbidden(
            f"Flavor {flavor.name} has a root disk of 0 GiB, as large as the image: only administrators may use it.",
            field="flavor",
        )
    if flavor is None or image is None:
        raise InvalidFields(problems)
    asked, properties = FlavorSnapshot(**flavor_snapshot(flavor)), ImageSnapshot(properties=image.properties)
    devices, no_devices = devices_requested(asked, properties)
    problems = problems_together(problems, fit_problems(flavor, image), no_devices)
    if problems:
        raise InvalidFields(problems)
    return _Parts(flavor, image, zone, keypair, group, hints, devices)


def _rows_write(caller: Caller, wanted: InstanceCreate, parts: _Parts, count: int) -> list[BuildRequest]:
    reservation = uuid.uuid4()
    spec_body = _spec_body(wanted, parts).to_dict()
    names = instance_names(wanted.name, count)
    requests = [
        _build_request(caller, wanted, parts, reservation=reservation, index=index, name=name)
        for index, name in enumerate(names)
    ]
    BuildRequest.objects.bulk_create(requests)
    requests_changed(requests)
    RequestSpec.objects.bulk_create(
        RequestSpec(
            instance_uuid=one.instance_uuid,
            reservation_id=reservation,
            project_id=caller.project_id,
            user_id=caller.user_id,
            body=spec_body,
        )
        for one in requests
    )
    InstanceMapping.objects.bulk_create(
        InstanceMapping(instance_uuid=one.instance_uuid, project_id=caller.project_id) for one in requests
    )
    if parts.group is not None:
        server_group_members_add(group_id=parts.group.pk, instance_uuids=[one.instance_uuid for one in requests])
    return requests


def _build_request(
    caller: Caller, wanted: InstanceCreate, parts: _Parts, *, reservation: uuid.UUID, index: int, name: str
) -> BuildRequest:
    instance_id = uuid.uuid4()
    return BuildRequest(
        instance_uuid=instance_id,
        project_id=caller.project_id,
        user_id=caller.user_id,
        reservation_id=reservation,
        batch_index=index,
        request_id=current_request_id(),
        vcpus=parts.flavor.vcpus,
        memory_mib=parts.flavor.memory_mib,
        instance_body=InstanceBody(
            id=instance_id,
            project_id=caller.project_id,
            user_id=caller.user_id,
            reservation_id=reservation,
            name=name,
            flavor=flavor_snapshot(parts.flavor),
            flavor_id=parts.flavor.pk,
            vcpus=parts.flavor.vcpus,
            memory_mib=parts.flavor.memory_mib,
            image=image_snapshot(parts.image),
            image_id=parts.image.pk,
            root_gib=parts.flavor.root_gib,
            ephemeral_gib=parts.flavor.ephemeral_gib,
            swap_mib=parts.flavor.swap_mib,
            description=wanted.description,
            hostname=hostname_from_name(name, str(instance_id)),
            availability_zone=parts.zone.zone,
            key_name=parts.keypair.name if parts.keypair else "",
            public_key=parts.keypair.public_key if parts.keypair else "",
            user_data="".join(wanted.user_data.split()),  # `base64` wraps its lines
            metadata=dict(wanted.metadata),
            tags=tuple(sorted(set(wanted.tags))),
            request_id=current_request_id(),
            launch_index=index,
        ).to_dict(),
    )


def _spec_body(wanted: InstanceCreate, parts: _Parts) -> SpecBody:
    return SpecBody(
        flavor=FlavorSnapshot(**flavor_snapshot(parts.flavor)),
        image=image_asked(parts.image),
        pci_requests=parts.pci_requests,
        availability_zone=parts.zone.zone,
        force_host=parts.zone.host,
        force_node=parts.zone.node,
        hints=parts.hints,
        group_id=parts.group.pk if parts.group else None,
        min_count=wanted.min_count if wanted.batch == BEST_EFFORT else None,
    )
