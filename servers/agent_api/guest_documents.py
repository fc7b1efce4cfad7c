"""What the guests of a host may read of themselves, signed for it: so it answers them without asking anybody."""

import hashlib
import json
import logging
import uuid
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace

import msgspec

from computeagent.protocol.guest_config import FirstBoot
from computeagent.protocol.guests import PortSpec
from computeagent.protocol.metadata import GuestDocument, GuestDocuments, SignedDocument
from computeagent.protocol.networks import NetworkBackendKind
from controlplane.infra.prepared import PreparedStatement
from controlplane.infra.signing import sign, verify_key
from controlplane.kernel.errors import Invalid, Throttled
from scheduling.topology.selectors.claims import topologies_of_instances
from servers.agent_api.guest_spec import guest_spec
from servers.agent_api.reached import OwnedHost, database_reached
from servers.conf import server_options
from servers.instances.services.guest_password import guest_password_store, guest_passwords
from servers.instances.services.vendor_data import static_vendor_data, vendor_data_of
from servers.models import FloatingIP, Instance, Port, PortGroup
from servers.networks.selectors.port_specs import port_specs
from servers.volumes.selectors.guest_volumes import FLAVOR_DISKS, guest_disks

log = logging.getLogger(__name__)

PURPOSE = b"kilonova guest documents"
MAX_DOCUMENTS = 32
MAX_BYTES = 2 * 2**20
"""Of one answer; a host that lacks more asks again."""
SERVED = (NetworkBackendKind.BRIDGE.value, NetworkBackendKind.OVN.value)
_SERVED_SQL = """
SELECT DISTINCT port.instance_uuid FROM servers_port AS port JOIN servers_network AS net ON net.id = port.network_id
 WHERE port.host = %s AND net.kind IN ('{kinds}') AND port.instance_uuid IS NOT NULL
"""
# Every agent asks each minute, and most have all that there is.
_SERVED_HERE = PreparedStatement(
    "guests_served_here", lambda: _SERVED_SQL.strip().format(kinds="', '".join(SERVED)), types=["text"]
)
_encoder = msgspec.json.Encoder(order="deterministic")


class GuestDocumentVerbs(OwnedHost):
    """See `computeagent.protocol.conductor.Conductor`."""

    def guest_documents(self, *, host: str, known: dict[str, str]) -> GuestDocuments:
        """See Conductor."""
        with database_reached():
            self._require_owner(host)  # others may be asked meanwhile, for which no transaction waits
            return guest_documents(host=host, known=known)

    def guest_password(self, *, host: str, instance_uuid: str, password: str) -> None:
        """See Conductor."""
        with database_reached(), self._owned(host):
            guest_password_store(host=host, instance_uuid=instance_uuid, password=password)


def guest_documents(*, host: str, known: Mapping[str, str]) -> GuestDocuments:
    """Of the guests here that have an address of ours, the documents that are not as `known` has them (by digest).

    Ten queries at most; one on a host without such a guest. Services of vendor data are asked about each document that
    is sent; one that must answer and does not keeps back that document alone, and the host asks again.
    """
    key = verify_key(purpose=PURPOSE)
    bare = list(_bare_documents(host))
    options = server_options()
    said = [key, static_vendor_data(options), options.vendordata_dynamic_targets] if bare else []
    salt = json.dumps(said, sort_keys=True).encode()
    documents: list[SignedDocument] = []
    size, is_complete = 0, True
    for instance, document in bare:
        digest = hashlib.sha256(salt + _encoder.encode(document) + instance.disk_config.encode()).hexdigest()
        if known.get(document.guest.uuid) == digest:
            continue
        if len(documents) == MAX_DOCUMENTS or size > MAX_BYTES:
            is_complete = False
            break
        whole = _with_vendor_data(instance, document)
        if whole is not None:
            content = _encoder.encode(whole)
            size += len(content)
            signature = sign(content, purpose=PURPOSE)
            documents.append(SignedDocument(whole.guest.uuid, digest, content.decode(), signature))
    instances = tuple(document.guest.uuid for _, document in bare)
    return GuestDocuments(key, instances, tuple(documents), is_complete)


def _with_vendor_data(instance: Instance, document: GuestDocument) -> GuestDocument | None:
    try:
        vendor_data, vendor_data2 = vendor_data_of(instance)
    except (Invalid, Throttled) as error:
        log.warning("instance %s is not told its metadata yet: %s", instance.pk, error.message)
        return None
    said = FirstBoot(vendor_data=vendor_data, vendor_data2=vendor_data2)
    return replace(document, guest=replace(document.guest, first_boot=said))


def _bare_documents(host: str) -> Iterator[tuple[Instance, GuestDocument]]:
    """All of this host but for their vendor data."""
    ids = {uuid.UUID(str(pk)) for (pk,) in _SERVED_HERE.rows([host])}
    instances = list(Instance.objects.filter(pk__in=ids, host=host, deleted_at__isnull=True)) if ids else []
    if not instances:
        return
    of_host = [instance.pk for instance in instances]
    ports = list(Port.objects.filter(instance_uuid__in=of_host).order_by("position", "created_at", "pk"))
    cards: dict[uuid.UUID | None, list[PortSpec]] = defaultdict(list)
    specs = port_specs(ports)
    for port in ports:
        cards[port.instance_uuid].append(specs[port.pk])
    placed = topologies_of_instances(of_host)
    floating, groups = _floating(ports), _groups(ports)
    passwords, disks = guest_passwords(of_host), guest_disks(instances)
    for instance in instances:
        yield (
            instance,
            GuestDocument(
                host=host,
                guest=guest_spec(
                    instance,
                    tuple(cards[instance.pk]),
                    placed.get(instance.pk),
                    disks=disks.get(instance.pk, FLAVOR_DISKS),
                ),
                floating_addresses=tuple(floating[instance.pk]),
                security_groups=tuple(sorted(groups[instance.pk])),
                password=passwords.get(instance.pk, ""),
            ),
        )


def _floating(ports: list[Port]) -> dict[uuid.UUID | None, list[str]]:
    found: dict[uuid.UUID | None, list[str]] = defaultdict(list)
    of_ports = FloatingIP.objects.filter(port__in=ports).order_by("created_at", "pk")
    for instance, address in of_ports.values_list("port__instance_uuid", "address"):
        found[instance].append(address)
    return found


def _groups(ports: list[Port]) -> dict[uuid.UUID | None, set[str]]:
    found: dict[uuid.UUID | None, set[str]] = defaultdict(set)
    for instance, name in PortGroup.objects.filter(port__in=ports).values_list("port__instance_uuid", "group__name"):
        found[instance].add(name)
    return found
