"""What notifications say of instances beyond their rows: ports, tags, keys, and who began the latest action."""

import uuid
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace

from controlplane.identity.domain import Caller
from controlplane.infra.request_id import current_request_id
from controlplane.kernel.errors import Invalid
from servers.catalog.domain.public_keys import public_key_parse
from servers.instances.actions.table import AT_ONCE
from servers.instances.domain.notification_payload import Address, InstanceFacts, VolumeDisk
from servers.instances.selectors.interfaces import FIXED, Interface, addresses_without_port, instance_interfaces
from servers.models import BlockDeviceMapping, Instance, InstanceAction, InstanceTag

Who = tuple[str | None, str | None]


def instance_notification_facts(
    rows: Sequence[Instance], *, caller: Caller | None = None
) -> list[tuple[Instance, InstanceFacts]]:
    """Each instance with its facts, in four queries, and one more where one has named disks. `caller` is the initiator
    where no action is recorded.
    """
    ids = [row.pk for row in rows]
    volumes = _volumes([row.pk for row in rows if row.has_block_devices])
    interfaces, tags, began = instance_interfaces(rows), _tags(ids), _initiators(ids)
    asked = (str(caller.user_id), str(caller.own_project_id or "") or None) if caller else None
    facts = []
    for row in rows:
        who = asked or began.get(row.pk) or (str(row.user_id), str(row.project_id))
        found = _facts(row, interfaces.get(row.pk, ()), tags.get(row.pk) or row.known_tags or (), who)
        facts.append((row, replace(found, volumes=volumes.get(row.pk, ()))))
    return facts


def _facts(row: Instance, interfaces: Sequence[Interface], tags: Sequence[str], who: Who) -> InstanceFacts:
    request_id = current_request_id()
    return InstanceFacts(
        columns={field.attname: getattr(row, field.attname) for field in Instance._meta.concrete_fields},
        flavor=row.flavor,
        addresses=_addresses(row, interfaces),
        tags=tags,
        fingerprint=_fingerprint(row.public_key),
        guest_name=f"i-{row.pk.hex[:12]}",
        request_id=request_id if request_id.startswith("req-") else "",
        initiator_user=who[0],
        initiator_project=who[1],
    )


def _volumes(ids: Collection[uuid.UUID]) -> dict[uuid.UUID, list[VolumeDisk]]:
    found: dict[uuid.UUID, list[VolumeDisk]] = defaultdict(list)
    rows = BlockDeviceMapping.objects.filter(instance_uuid__in=ids, volume_id__isnull=False) if ids else ()
    for row in sorted(rows, key=lambda row: (row.position, row.created_at, row.pk)):
        disk = VolumeDisk(str(row.volume_id), row.device, row.boot_index, row.delete_on_termination, row.tag)
        found[row.instance_uuid].append(disk)
    return found


def _tags(ids: Collection[uuid.UUID]) -> dict[uuid.UUID, list[str]]:
    found: dict[uuid.UUID, list[str]] = defaultdict(list)
    for instance_id, tag in InstanceTag.objects.filter(instance_id__in=ids).values_list("instance_id", "tag"):
        found[instance_id].append(tag)
    return found


def _initiators(ids: Collection[uuid.UUID]) -> dict[uuid.UUID, Who]:
    """Who began the latest action of each; nobody, where the control plane itself began it."""
    # What was done at once meanwhile says nothing of who began what is under way.
    rows = InstanceAction.objects.filter(instance_uuid__in=ids).exclude(action__in=AT_ONCE).order_by("started_at", "id")
    owners = rows.values_list("instance_uuid", "user_id", "project_id")
    return {pk: (str(user), str(project)) if user and project else (None, None) for pk, user, project in owners}


def _addresses(row: Instance, interfaces: Sequence[Interface]) -> list[Address]:
    """The fixed ones: Nova's payload has no mark that would tell floating ones from them, and leaves those out."""
    without_port = [
        Address(label=network, mac="", port_uuid="", address=address)
        for network, addresses in addresses_without_port(row, interfaces).items()
        for address in addresses
    ]
    return without_port + [
        Address(label=each.network, mac=each.mac, port_uuid=str(each.port_id), address=one.address)
        for each in interfaces
        for one in each.addresses
        if one.kind == FIXED
    ]


def _fingerprint(public_key: str) -> str:
    try:
        return public_key_parse(public_key).fingerprint if public_key else ""
    except Invalid:
        return ""
