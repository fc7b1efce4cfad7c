"""What notifications say of instances beyond their rows: ports, tags, keys, and who began the latest action."""

import uuid
from collections import defaultdict
from collections.abc import Collection, Sequence
from ipaddress import ip_address

from controlplane.identity.domain import Caller
from controlplane.infra.request_id import current_request_id
from controlplane.kernel.errors import Invalid
from servers.catalog.domain.public_keys import public_key_parse
from servers.instances.actions.table import AT_ONCE
from servers.instances.domain.notification_payload import Address, InstanceFacts
from servers.models import Instance, InstanceAction, InstanceTag, Port

Who = tuple[str | None, str | None]


def instance_notification_facts(
    rows: Sequence[Instance], *, caller: Caller | None = None
) -> list[tuple[Instance, InstanceFacts]]:
    """Each instance with its facts, in three queries. `caller` is the initiator where no action is recorded."""
    ids = [row.pk for row in rows]
    ports, tags, began = _ports(ids), _tags(ids), _initiators(ids)
    asked = (str(caller.user_id), str(caller.project_id)) if caller else None
    facts = []
    for row in rows:
        who = asked or began.get(row.pk) or (str(row.user_id), str(row.project_id))
        facts.append((row, _facts(row, ports.get(row.pk, []), tags.get(row.pk) or row.pending_tags, who)))
    return facts


def _facts(row: Instance, ports: Sequence[Port], tags: Sequence[str], who: Who) -> InstanceFacts:
    request_id = current_request_id()
    return InstanceFacts(
        columns={field.attname: getattr(row, field.attname) for field in Instance._meta.concrete_fields},
        flavor=row.flavor,
        addresses=_addresses(row, ports),
        tags=tags,
        fingerprint=_fingerprint(row.public_key),
        guest_name=f"i-{row.pk.hex[:12]}",
        request_id=request_id if request_id.startswith("req-") else "",
        initiator_user=who[0],
        initiator_project=who[1],
    )


def _ports(ids: Collection[uuid.UUID]) -> dict[uuid.UUID, list[Port]]:
    found: dict[uuid.UUID, list[Port]] = defaultdict(list)
    for port in Port.objects.filter(instance_uuid__in=ids):
        found[port.instance_uuid].append(port)
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


def _addresses(row: Instance, ports: Sequence[Port]) -> list[Address]:
    """An agent reports addresses by network; the port of that network, where there is one, has the MAC address."""
    by_network = {port.network_name: port for port in ports}
    return [
        Address(
            label=network,
            mac=by_network[network].mac if network in by_network else "",
            port_uuid=str(by_network[network].pk) if network in by_network else "",
            address=address,
        )
        for network, addresses in (row.addresses or {}).items()
        for address in addresses
        if _is_address(address)
    ]


def _is_address(text: object) -> bool:
    try:
        ip_address(str(text))
    except ValueError:
        return False
    return True


def _fingerprint(public_key: str) -> str:
    try:
        return public_key_parse(public_key).fingerprint if public_key else ""
    except Invalid:
        return ""
