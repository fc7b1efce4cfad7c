"""The verbs about networks, of a control plane in memory."""

from computeagent.protocol.networks import HostNetworks, NetworksApplied
from controlplane.kernel.errors import NotFound


class NetworksAsked:
    """What a host is to have of networks, and what it told. `knows_networks`: without, it is of an earlier release."""

    knows_networks = True

    def __init__(self) -> None:
        self.host_networks = HostNetworks(revision=0)
        self.networks_asked: list[int] = []
        self.networks_told: list[NetworksApplied] = []

    def networks_wanted(self, *, host: str, known_revision: int = -1) -> HostNetworks | None:
        """See Conductor."""
        self.networks_asked.append(known_revision)
        if not self.knows_networks:
            raise NotFound("There is no verb 'networks_wanted' here.")
        return None if known_revision == self.host_networks.revision else self.host_networks

    def networks_applied(self, *, host: str, applied: NetworksApplied) -> None:
        """See Conductor."""
        self.networks_told.append(applied)
