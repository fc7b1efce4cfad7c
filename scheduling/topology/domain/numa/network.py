"""Networks near a NUMA cell. Source: Nova's NUMA-aware vSwitches."""

from collections.abc import Collection
from dataclasses import dataclass

from computeagent.protocol.topology import HostTopology
from controlplane.kernel.reasons import Refusal, RefusalReason

TUNNEL = "tunneled"


@dataclass(frozen=True, slots=True)
class NetworkNeeds:
    """The networks of a guest's ports: physical networks by name, and whether any is tunneled."""

    physnets: frozenset[str] = frozenset()
    tunneled: bool = False

    def __bool__(self) -> bool:
        return bool(self.physnets) or self.tunneled


def refuse_far_networks(host: HostTopology, chosen: Collection[int], needs: NetworkNeeds) -> Refusal | None:
    """A network no chosen cell is near, while another cell is. Networks near no cell at all are unconstrained."""
    if not needs:
        return None
    near = [cell for cell in host.cells if cell.id in chosen]
    other = [cell for cell in host.cells if cell.id not in chosen]
    for physnet in sorted(needs.physnets):
        if not any(physnet in cell.physnets for cell in near):
            homes = [cell.id for cell in other if physnet in cell.physnets]
            if homes:
                return _far(physnet, homes)
    homes = [cell.id for cell in other if cell.tunneled]
    if needs.tunneled and homes and not any(cell.tunneled for cell in near):
        return _far(TUNNEL, homes)
    return None


def _far(network: str, homes: list[int]) -> Refusal:
    return Refusal(RefusalReason.NUMA_NETWORK_FAR, wanted=network, available=", ".join(map(str, homes)))
