"""Create: everything is checked, then quota and rows are written in one transaction; the conductor does the rest."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from django.conf import settings
from django.db import transaction

from controlplane.identity.domain import Caller
from controlplane.identity.policy import require
from controlplane.infra.request_id import current_request_id
from controlplane.infra.work import CONDUCTOR_QUEUE, NewWork, work_create
from controlplane.kernel.errors import Invalid, InvalidFields
from controlplane.kernel.ids import parse_uuid
from scheduling.selectors.hosts import host_exists
from scheduling.selectors.zones import zone_exists, zone_list
from servers.domain.instance_rules import (
    ZoneRequest,
    hostname_from_name,
    image_fit_problems,
    instance_names,
    instance_problems,
    zone_parse,
)
from servers.domain.states import TaskState, VmState
from servers.models import (
    BuildRequest,
    Flavor,
    Image,
    Instance,
    InstanceMapping,
    KeyPair,
    RequestSpec,
    ServerGroup,
)
from servers.selectors.flavor import flavor_for_instance, flavor_snapshot
from servers.selectors.image import image_for_instance, image_snapshot
from servers.selectors.instance import instances_unknown
from servers.selectors.keypair import keypair_for_instance
from servers.selectors.pending import pending_instance
from servers.selectors.server_group import server_group_for_instance
from servers.services.kinds import SCHEDULE_AND_BUILD
from servers.services.quota import quota_count_allowed, quota_lock
from servers.services.server_group import server_group_members_add

T = TypeVar("T")
HINTS = ("group", "same_host", "different_host")


@dataclass(frozen=True, slots=True)
class InstanceCreate:
    """What a caller asks for. `flavor` and `image` by id or name; `user_data` in base64; counts for a batch."""

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


@dataclass(frozen=True, slots=True)
class _Parts:
    """The things that the request names, found."""

    flavor: Flavor
    image: Image
    zone: ZoneRequest
    keypair: KeyPair | None
    group: ServerGroup | None
    hints: dict[str, list[str]]


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
        requests = _rows_write(caller, wanted, parts, count)
        deadline_s = settings.KILONOVA["BUILD_DEADLINE_S"]
        work_create(NewWork(CONDUCTOR_QUEUE, SCHEDULE_AND_BUILD, requests[0].reservation_id, deadline_s))
    return [pending_instance(request) for request in requests]


def _found(caller: Caller, wanted: InstanceCreate) -> _Parts:
    """Everything that is wrong is told at once, by field."""
    problems = instance_problems(
        name=wanted.name,
        metadata=wanted.metadata,
        tags=wanted.tags,
        user_data=wanted.user_data,
        min_count=wanted.min_count,
        max_count=wanted.min_count if wanted.max_count is None else wanted.max_count,
        description=wanted.description,
        availability_zone=wanted.availability_zone,
    )
    zone, zone_reasons = zone_parse(wanted.availability_zone)
    flavor = _looked_up(problems, lambda: flavor_for_instance(caller=caller, reference=wanted.flavor))
    image = _looked_up(problems, lambda: image_for_instance(caller=caller, reference=wanted.image))
    name = wanted.key_name
    keypair = _looked_up(problems, lambda: keypair_for_instance(user_id=caller.user_id, name=name)) if name else None
    group = _looked_up(problems, lambda: _group(caller, wanted.hints))
    hints = _hints(caller, wanted.hints, problems)
    if not zone_reasons:
        problems |= _zone_problems(caller, zone)
    if flavor and image:
        problems |= _fit_problems(flavor, image)
    if problems or flavor is None or image is None:
        raise InvalidFields(problems)
    return _Parts(flavor, image, zone, keypair, group, hints)


def _looked_up(problems: dict[str, list[str]], find: Callable[[], T]) -> T | None:
    try:
        return find()
    except Invalid as error:
        problems.setdefault(error.field or "body", []).append(error.message)
        return None


def _group(caller: Caller, hints: Mapping[str, Any]) -> ServerGroup | None:
    return server_group_for_instance(caller=caller, reference=str(hints["group"])) if "group" in hints else None


def _fit_problems(flavor: Flavor, image: Image) -> dict[str, list[str]]:
    return image_fit_problems(
        min_ram_mib=image.min_ram_mib,
        min_disk_gib=image.min_disk_gib,
        size_bytes=image.size_bytes,
        virtual_size_bytes=image.virtual_size_bytes,
        flavor_memory_mib=flavor.memory_mib,
        flavor_root_gib=flavor.root_gib,
    )


def _zone_problems(caller: Caller, zone: ZoneRequest) -> dict[str, list[str]]:
    if zone.host or zone.node:
        require(caller, "instances:create:forced_host")
    if zone.host and not host_exists(host=zone.host):
        return {"availability_zone": [f"There is no host {zone.host!r:.80}."]}
    if zone.zone and not zone_exists(name=zone.zone):
        known = ", ".join(one.name for one in zone_list())
        return {"availability_zone": [f"There is no zone {zone.zone!r:.80}; there are: {known}."]}
    return {}


def _hints(caller: Caller, hints: Mapping[str, Any], problems: dict[str, list[str]]) -> dict[str, list[str]]:
    """Lists of instance ids by hint; what is wrong is added to `problems`."""
    problems |= {f"hints.{key:.80}": ["There is no such hint."] for key in hints if key not in HINTS}
    found: dict[str, list[str]] = {}
    for key in ("same_host", "different_host"):
        if key in hints:
            found[key], reasons = _servers(caller, hints[key])
            problems |= {f"hints.{key}": reasons} if reasons else {}
    return found


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


def _rows_write(caller: Caller, wanted: InstanceCreate, parts: _Parts, count: int) -> list[BuildRequest]:
    reservation = uuid.uuid4()
    spec_body = _spec_body(parts)
    names = instance_names(wanted.name, count)
    requests = [
        _build_request(caller, wanted, parts, reservation=reservation, index=index, name=name)
        for index, name in enumerate(names)
    ]
    BuildRequest.objects.bulk_create(requests)
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
        instance_body={
            "id": str(instance_id),
            "project_id": str(caller.project_id),
            "user_id": str(caller.user_id),
            "name": name,
            "description": wanted.description,
            "hostname": hostname_from_name(name, str(instance_id)),
            "availability_zone": parts.zone.zone,
            "vm_state": VmState.BUILDING.value,
            "task_state": TaskState.SCHEDULING.value,
            "flavor": flavor_snapshot(parts.flavor),
            "flavor_id": str(parts.flavor.pk),
            "vcpus": parts.flavor.vcpus,
            "memory_mib": parts.flavor.memory_mib,
            "root_gib": parts.flavor.root_gib,
            "ephemeral_gib": parts.flavor.ephemeral_gib,
            "swap_mib": parts.flavor.swap_mib,
            "image": image_snapshot(parts.image),
            "image_id": str(parts.image.pk),
            "key_name": parts.keypair.name if parts.keypair else "",
            "public_key": parts.keypair.public_key if parts.keypair else "",
            "user_data": wanted.user_data,
            "metadata": dict(wanted.metadata),
            "tags": sorted(set(wanted.tags)),
            "request_id": current_request_id(),
            "reservation_id": str(reservation),
            "launch_index": index,
        },
    )


def _spec_body(parts: _Parts) -> dict[str, Any]:
    image = image_snapshot(parts.image)
    image.pop("checksum_sha256")
    image.pop("virtual_size_bytes")
    return {
        "flavor": flavor_snapshot(parts.flavor),
        "image": image,
        "availability_zone": parts.zone.zone,
        "force_host": parts.zone.host,
        "hints": parts.hints,
        "group_id": str(parts.group.pk) if parts.group else None,
    }
