"""The verbs by which a host tells how it is between two registrations, of a control plane in memory."""

from computeagent.protocol.hosts import HostMeasures, HostUsage
from controlplane.kernel.errors import NotFound


class MeasuresAsked:
    """What was told. `is_sparing`: what it answers to be. `forgets_host`: the host is not registered any more."""

    is_sparing = forgets_host = False
    claims = 0
    """How often an agent asked to have the host."""

    def __init__(self) -> None:
        self.usages: list[HostUsage] = []
        self.measured: list[HostMeasures] = []

    def _reach(self) -> None:
        """Raises Unavailable while the control plane is away."""
        raise NotImplementedError

    def usage(self, *, host: str, usage: HostUsage) -> None:
        """See Conductor."""
        self._reach()
        self.usages.append(usage)

    def measures(self, *, host: str, measures: HostMeasures) -> None:
        """See Conductor."""
        self._reach()
        if self.forgets_host:
            raise NotFound("this host is not registered")
        self.measured.append(measures)
