"""`HostPlug` by OVN: taps and their names in Open vSwitch. What passes them is OVN's to say, by the control plane."""

import logging
import re
import threading
from collections.abc import Iterable

from computeagent.networks.base import TAP_PREFIX, NetworkAbilities, NetworkError, NetworkPlace, Tap, tap_name
from computeagent.networks.bridge.commands import BatchLine, Commands
from computeagent.networks.bridge.links import links_there
from computeagent.networks.bridge.names import SERVICE_PREFIX, own_namespaces, service_namespace
from computeagent.networks.bridge.namespaces import namespace_remove, namespaces_there
from computeagent.networks.ovn.datapath import Datapath
from computeagent.networks.ovn.limits import ConnectionLimits
from computeagent.networks.ovn.service_namespaces import has_service, service_ensure, service_link
from computeagent.networks.ovn.switch import READY_S, Switch
from computeagent.protocol.guests import PortSpec
from computeagent.protocol.networks import (
    HostNetworks,
    HostPort,
    NetworkBackendKind,
    NetworkProblem,
    NetworksApplied,
    NetworkSpec,
)
from controlplane.kernel.kill_points import reach

_log = logging.getLogger(__name__)
_OURS = re.compile(f"({TAP_PREFIX}|{SERVICE_PREFIX})[0-9a-f]{{12}}")


class OvnPlug:
    """Ports of one hypervisor, at its place. `host` is its chassis in OVN; `database` and `ready_s`: see `Switch`.
    `max_connections`: of each guest; 0: as many as the host has room for.
    """

    def __init__(
        self, place: NetworkPlace, host: str, database: str = "", *, ready_s: int = READY_S, max_connections: int = 0
    ) -> None:
        self._place = place
        self._commands = Commands(place.prefix)
        self._switch = Switch(self._commands, host, database, ready_s=ready_s)
        self._datapath = Datapath(self._commands, database)
        self._limits = ConnectionLimits(self._datapath, self._switch, max_connections)
        self._lock = threading.Lock()
        self._ports: dict[str, HostPort] = {}
        self._networks: dict[str, NetworkSpec] = {}
        self._revision = 0
        self._served: dict[str, NetworkSpec] = {}
        self._in_user_space = False
        self._physical_networks: tuple[str, ...] = ()

    def open(self) -> None:
        """As HostPlug says."""
        self._physical_networks = self._switch.probe()
        self._in_user_space = self._switch.is_in_user_space
        self._datapath.probe(is_in_user_space=self._in_user_space)

    def close(self) -> None:
        """Nothing is held."""

    def abilities(self) -> NetworkAbilities:
        """As HostPlug says."""
        return NetworkAbilities((NetworkBackendKind.OVN,), self._physical_networks)

    def apply(self, wanted: HostNetworks) -> NetworksApplied:
        """As HostPlug says. Of routers a host has nothing to do. Raises NetworkError where nothing could be done."""
        with self._lock:
            if wanted.revision < self._revision:
                wanted = HostNetworks(
                    self._revision, networks=tuple(self._networks.values()), ports=tuple(self._ports.values())
                )
            self._revision = wanted.revision
            self._ports = {port.id: port for port in wanted.ports}
            self._networks = {network.id: network for network in wanted.networks}
            problems = [*self._services(wanted.networks), *self._sweep()]
            plugged = self._switch.plugged()
            problems += self._limit(port for port in self._ports if port in plugged)
        active = tuple(port.id for port in wanted.ports if port.id in plugged and plugged[port.id].is_ready)
        return NetworksApplied(wanted.revision, active, tuple(problems))

    def plug(self, port: PortSpec) -> Tap:
        """As HostPlug says: when it returns, OVN's rules for the port are in force, so that the guest's first packet
        finds DHCP there.
        """
        wanted = self._ports.get(port.id)
        network = self._networks.get(wanted.network_id) if wanted is not None else None
        if wanted is None or network is None:
            raise NetworkError(f"port {port.id} is not among those that this host has been told of")
        name = tap_name(port.id)
        owner = f" user {self._place.tap_uid}" if self._place.tap_uid is not None else ""
        made = [] if self._has_link(name) else [f"tuntap add dev {name} mode tap vnet_hdr{owner}"]
        lines = [*made, f"link set dev {name} mtu {network.mtu} addrgenmode none up"]
        problems = self._commands.ip_batch([BatchLine(line, "port", port.id) for line in lines])
        if problems:
            raise NetworkError("; ".join(problem.message for problem in problems))
        reach("computeagent.networks.ovn.plug:made")
        self._switch.join(name, port.id, wanted.mac)
        reach("computeagent.networks.ovn.plug:joined")
        self._switch.wait_ready(name)
        try:
            self._limits.ensure_one(port.id)
        except NetworkError as error:  # the next look says so, and keeps no guest from starting
            _log.warning("connections of port %s are not limited: %s", port.id, error)
        return Tap(name, network.mtu, has_offloads=not self._in_user_space)

    def unplug(self, port_id: str) -> None:
        """As HostPlug says."""
        name = tap_name(port_id)
        self._switch.leave(name)
        reach("computeagent.networks.ovn.plug:left")
        self._link_remove(name)

    def service_prefix(self, network_id: str) -> tuple[str, ...] | None:
        """As HostPlug says."""
        if network_id not in self._served:
            return None
        return self._commands.inside(service_namespace(self._place.namespace_prefix, network_id)).prefix

    def _services(self, networks: tuple[NetworkSpec, ...]) -> list[NetworkProblem]:
        """The namespaces that the metadata service answers in, of the networks of ports here."""
        in_use = {port.network_id for port in self._ports.values()}
        wanted = {network.id: network for network in networks if network.id in in_use and has_service(network)}
        problems: list[NetworkProblem] = []
        if not self._place.has_namespaces:
            return problems
        namespaces = namespaces_there(self._commands, own_namespaces(self._place.namespace_prefix))
        there = frozenset({*namespaces, *links_there(self._commands)})
        names = {network_id: service_namespace(self._place.namespace_prefix, network_id) for network_id in wanted}
        for network_id, network in wanted.items():
            if self._served.get(network_id) == network and {names[network_id], service_link(network_id)} <= there:
                continue
            try:
                failed = service_ensure(
                    *(self._commands, self._switch, names[network_id], network),
                    there=there,
                    in_user_space=self._in_user_space,
                )
            except NetworkError as error:
                failed = [NetworkProblem("network", network_id, str(error))]
            problems += failed
            self._served.pop(network_id, None)
            if not failed:
                self._served[network_id] = network
        for name in sorted(namespaces - set(names.values())):
            try:
                namespace_remove(self._commands, name)
            except NetworkError as error:
                problems.append(NetworkProblem("host", "", str(error)))
        self._served = {one: network for one, network in self._served.items() if one in wanted}
        return problems

    def _sweep(self) -> list[NetworkProblem]:
        """Remove taps and links that no port or network here explains, also those that were never joined."""
        wanted = {tap_name(port_id) for port_id in self._ports} | {service_link(one) for one in self._served}
        joined = {one.name for one in self._switch.plugged().values()}
        try:
            self._switch.leave(*sorted(joined - wanted))
            for name in links_there(self._commands):
                if _OURS.fullmatch(name) and name not in wanted:
                    self._link_remove(name)
        except NetworkError as error:
            return [NetworkProblem("host", "", str(error))]
        return []

    def _limit(self, plugged: Iterable[str]) -> list[NetworkProblem]:
        """Of those that were just plugged OVN may not know the zone yet: they are limited where they are plugged."""
        try:
            self._limits.ensure(set(plugged))
        except NetworkError as error:
            return [NetworkProblem("host", "", f"connections of guests are not limited: {error}")]
        return []

    def _has_link(self, name: str) -> bool:
        return name in links_there(self._commands)

    def _link_remove(self, name: str) -> None:
        if self._has_link(name):
            problems = self._commands.ip_batch([BatchLine(f"link delete dev {name}")])
            if problems and self._has_link(name):
                raise NetworkError(problems[0].message)
