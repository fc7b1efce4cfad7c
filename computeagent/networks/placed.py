"""The plug at a place: both are had where they can be; where they cannot, the host carries no networks and says why."""

import logging
from collections.abc import Callable

from computeagent.networks.absent import NoPlug
from computeagent.networks.base import HostPlug, NetworkAbilities, NetworkError, NetworkPlace, Tap
from computeagent.networks.places.place import HypervisorPlace
from computeagent.protocol.guests import PortSpec
from computeagent.protocol.networks import HostNetworks, NetworksApplied

log = logging.getLogger(__name__)


class PlacedPlug:
    """A HostPlug. `make` gives the one that carries networks at a place. What was missing is looked for again with each
    document: somebody may have installed it.
    """

    def __init__(self, place: HypervisorPlace, make: Callable[[NetworkPlace], HostPlug]) -> None:
        self._place = place
        self._make = make
        self._plug: HostPlug = NoPlug("its networks were not opened yet")

    def open(self) -> None:
        """Never raises: guests without such networks are run all the same."""
        try:
            plug = self._make(self._place.ensure())
            plug.open()
        except NetworkError as error:
            if str(error) != self._plug.abilities().lack:
                log.warning("this host carries no networks: %s", error)
            self._plug = NoPlug(str(error))
        else:
            self._plug = plug

    def close(self) -> None:
        """See HostPlug."""
        self._plug.close()

    def abilities(self) -> NetworkAbilities:
        """See HostPlug."""
        return self._plug.abilities()

    def apply(self, wanted: HostNetworks) -> NetworksApplied:
        """See HostPlug. A place that was damaged is put right first."""
        if isinstance(self._plug, NoPlug):
            self.open()
        else:
            self._place.ensure()
        return self._plug.apply(wanted)

    def plug(self, port: PortSpec) -> Tap:
        """See HostPlug."""
        return self._plug.plug(port)

    def unplug(self, port_id: str) -> None:
        """See HostPlug."""
        self._plug.unplug(port_id)

    def service_prefix(self, network_id: str) -> tuple[str, ...] | None:
        """See HostPlug."""
        return self._plug.service_prefix(network_id)
