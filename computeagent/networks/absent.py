"""A host that carries no networks: guests have the networks of their hypervisor, and no others."""

from computeagent.networks.base import NetworkAbilities, NetworkError, Tap
from computeagent.protocol.guests import PortSpec
from computeagent.protocol.networks import HostNetworks, NetworkProblem, NetworksApplied

REASON = "This host carries no networks: its agent was started without any."


class NoPlug:
    """The HostPlug of such a host. Ports that are bound to it all the same are problems. `lack`: what it lacks, where
    it was meant to carry some.
    """

    def __init__(self, lack: str = "") -> None:
        self._lack = lack
        self._reason = f"This host carries no networks: {lack}" if lack else REASON

    def open(self) -> None:
        """Nothing to find out."""

    def close(self) -> None:
        """Nothing to let go of."""

    def abilities(self) -> NetworkAbilities:
        """None."""
        return NetworkAbilities(lack=self._lack)

    def apply(self, wanted: HostNetworks) -> NetworksApplied:
        """See HostPlug."""
        problems = [NetworkProblem("port", port.id, self._reason) for port in wanted.ports]
        problems += [NetworkProblem("router", router.id, self._reason) for router in wanted.routers]
        return NetworksApplied(wanted.revision, problems=tuple(problems))

    def plug(self, port: PortSpec) -> Tap:
        """See HostPlug. Raises NetworkError."""
        raise NetworkError(self._reason)

    def unplug(self, port_id: str) -> None:
        """Nothing was plugged."""

    def service_prefix(self, network_id: str) -> tuple[str, ...] | None:
        """No network has a place here."""
