"""The verbs about networks of a host."""

from computeagent.protocol.networks import HostNetworks, NetworksApplied
from servers.agent_api.reached import OwnedHost, database_reached
from servers.networks.selectors.host_networks import host_networks, wanted_revision
from servers.networks.services.applied import networks_applied


class HostNetworkVerbs(OwnedHost):
    """See `computeagent.protocol.conductor.Conductor`."""

    def networks_wanted(self, *, host: str, known_revision: int = -1) -> HostNetworks | None:
        """See Conductor. One more query where nothing changed."""
        with database_reached(), self._owned(host):
            return None if known_revision == wanted_revision(host) else host_networks(host)

    def networks_applied(self, *, host: str, applied: NetworksApplied) -> None:
        """See Conductor."""
        with database_reached(), self._owned(host):
            networks_applied(host=host, applied=applied)
