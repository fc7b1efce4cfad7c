"""Networks in memory, for simulated guests: the same way as on a real host, without an interface."""

import json
import os
import threading
from collections.abc import Collection
from pathlib import Path

from computeagent.networks.base import NetworkAbilities, NetworkError, Tap, tap_name
from computeagent.protocol.guests import PortSpec
from computeagent.protocol.networks import HostNetworks, NetworkBackendKind, NetworkProblem, NetworksApplied


class MemoryPlug:
    """A HostPlug of simulated guests. Its taps outlive it in `state_file`, as guests of a simulated host do.

    `physical_networks`: those that it says it has. `faults`: what cannot be done, as sentences by the id of the port,
    network or router; under `host`: nothing can.
    """

    def __init__(self, state_file: Path | None = None, physical_networks: Collection[str] = ()) -> None:
        self._physical_networks = physical_networks
        self._state_file = state_file
        self._lock = threading.Lock()
        self._document = HostNetworks(revision=0)
        self._taps: set[str] = set()
        self.faults: dict[str, str] = {}

    @property
    def taps(self) -> frozenset[str]:
        """The ids of the ports that are plugged."""
        with self._lock:
            return frozenset(self._taps)

    @property
    def document(self) -> HostNetworks:
        """What was applied last."""
        with self._lock:
            return self._document

    def abilities(self) -> NetworkAbilities:
        """Memory carries everything."""
        return NetworkAbilities((NetworkBackendKind.BRIDGE, NetworkBackendKind.OVN), tuple(self._physical_networks))

    def open(self) -> None:
        """Find the taps of an earlier run."""
        if self._state_file is None:
            return
        try:
            self._taps = set(json.loads(self._state_file.read_text()))
        except FileNotFoundError:
            return
        except (OSError, ValueError, TypeError) as error:
            raise NetworkError(f"cannot read {self._state_file}: {error}") from error

    def close(self) -> None:
        """See HostPlug."""

    def apply(self, wanted: HostNetworks) -> NetworksApplied:
        """See HostPlug."""
        with self._lock:
            self._raise_fault("host")
            self._document = wanted
            ports = {port.id: port for port in wanted.ports}
            self._keep(self._taps & ports.keys())
            problems = [
                NetworkProblem(kind, each.id, self.faults[each.id])
                for kind, things in (("port", wanted.ports), ("network", wanted.networks), ("router", wanted.routers))
                for each in things
                if each.id in self.faults
            ]
            active = sorted(self._taps - self.faults.keys())
            return NetworksApplied(wanted.revision, tuple(active), tuple(problems))

    def plug(self, port: PortSpec) -> Tap:
        """See HostPlug."""
        with self._lock:
            self._raise_fault(port.id)
            found = next((each for each in self._document.ports if each.id == port.id), None)
            if found is None:
                raise NetworkError(f"port {port.id} is in no document that was applied here")
            networks = {network.id: network for network in self._document.networks}
            if found.network_id not in networks:
                raise NetworkError(f"network {found.network_id} of port {port.id} is in no document applied here")
            self._keep(self._taps | {port.id})
            return Tap(tap_name(port.id), networks[found.network_id].mtu)

    def unplug(self, port_id: str) -> None:
        """See HostPlug."""
        with self._lock:
            self._keep(self._taps - {port_id})

    def service_prefix(self, network_id: str) -> tuple[str, ...] | None:
        """Nothing runs where there is no interface."""

    def _raise_fault(self, name: str) -> None:
        if name in self.faults:
            raise NetworkError(self.faults[name])

    def _keep(self, taps: set[str]) -> None:
        if taps == self._taps:
            return
        self._taps = taps
        if self._state_file is None:
            return
        try:
            self._state_file.parent.mkdir(parents=True, exist_ok=True)
            part = self._state_file.with_suffix(f".{os.getpid()}.part")
            part.write_text(json.dumps(sorted(taps)))
            part.replace(self._state_file)
        except OSError as error:
            raise NetworkError(f"cannot write {self._state_file}: {error}") from error
