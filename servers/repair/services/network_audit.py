"""Whether ports and their addresses agree."""

import uuid
from collections import defaultdict
from collections.abc import Iterator

from computeagent.protocol.networks import NetworkBackendKind
from controlplane.kernel.texts import phrase as _
from servers.models import IPAllocation, Port
from servers.networks.domain.addresses import address_key, network_range

Fault = tuple[int, str, str, dict[str, object]]


def network_faults() -> Iterator[Fault]:
    """Invariant, subject, sentence and evidence of each."""
    held: dict[uuid.UUID, set[str]] = defaultdict(set)
    for port_id, address, key, cidr in IPAllocation.objects.values_list(
        "port_id", "address", "address_key", "subnet__cidr"
    ).iterator():
        held[port_id].add(address)
        whole = network_range(cidr)
        if not address_key(whole.first) <= key <= address_key(whole.last):
            yield (
                4,
                str(port_id),
                _("has the address {address}, which is not in its subnet {cidr}", address=address, cidr=cidr),
                {},
            )
    carried = Port.objects.exclude(network=None).exclude(network__kind=NetworkBackendKind.HYPERVISOR)
    for port_id, addresses in carried.values_list("pk", "addresses").iterator():
        if set(addresses) != held[port_id]:
            evidence: dict[str, object] = {"shown": sorted(addresses), "held": sorted(held[port_id])}
            yield 4, str(port_id), "shows other addresses than it holds", evidence
