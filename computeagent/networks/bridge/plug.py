"""`HostPlug` by bridges of Linux. One document is carried out at a time; taps are plugged beside."""

import logging
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from computeagent.networks.base import NetworkAbilities, NetworkError, NetworkPlace, Tap, tap_name
from computeagent.networks.bridge.commands import BatchLine, Commands
from computeagent.networks.bridge.compiling import host_plan
from computeagent.networks.bridge.dhcp_server import dhcp_remove
from computeagent.networks.bridge.links import (
    Link,
    bridge_lines,
    joined,
    links_there,
    peer_lines,
    removal_lines,
    tap_lines,
    zones_there,
)
from computeagent.networks.bridge.names import own_namespaces, service_namespace
from computeagent.networks.bridge.namespaces import namespace_remove, namespaces_there
from computeagent.networks.bridge.plan import HostPlan, ServicePlan
from computeagent.networks.bridge.probe import probe
from computeagent.networks.bridge.routers import advertises, router_ensure
from computeagent.networks.bridge.ruleset import Table, change, whole
from computeagent.networks.bridge.service_namespaces import service_ensure, service_serve
from computeagent.protocol.guests import PortSpec
from computeagent.protocol.networks import HostNetworks, NetworkBackendKind, NetworkProblem, NetworksApplied
from controlplane.kernel.kill_points import reach

AT_ONCE = 4
"""Networks whose service namespaces are made side by side: what takes their time is waiting for other programs."""
_log = logging.getLogger(__name__)


class BridgePlug:
    """Networks of one hypervisor, at its place. `directory` is for files of DHCP; other users may have to read them.

    A document of the revision that is in force is carried out from the ground up, whatever is known of what is there:
    it heals what somebody else changed. One of a later revision changes what differs.
    """

    def __init__(self, place: NetworkPlace, directory: Path, *, max_connections: int = 0) -> None:
        """`max_connections`: of each guest; 0: as many as the host has room for."""
        self._max_connections = max_connections
        self._place = place
        self._directory = directory.absolute()
        self._commands = Commands(place.prefix)
        self._lock = threading.Lock()
        self._in_force: HostPlan | None = None
        self._revision = 0
        self._tables: tuple[Table, ...] | None = None
        self._links: Mapping[str, Link] = {}
        self._failed: set[str] = set()

    def open(self) -> None:
        """As HostPlug says."""
        probe(self._place, self._commands)

    def close(self) -> None:
        """Nothing is held."""

    def abilities(self) -> NetworkAbilities:
        """As HostPlug says."""
        if not self._place.has_namespaces:  # there is no place for routers
            return NetworkAbilities(kinds=(NetworkBackendKind.BRIDGE,))
        return NetworkAbilities((NetworkBackendKind.BRIDGE,), tuple(sorted(self._place.bridge_mappings)))

    def apply(self, wanted: HostNetworks) -> NetworksApplied:
        """As HostPlug says. A document older than that in force is not carried out. Raises NetworkError where nothing
        could be done at all.
        """
        with self._lock:
            if self._in_force is not None and wanted.revision < self._revision:
                return NetworksApplied(self._revision, self._active(self._in_force, links_there(self._commands)))
            links, namespaces = self._look()
            profiles = self._in_force.profiles if self._in_force is not None else {}
            zones = zones_there(links)
            plan = host_plan(
                wanted,
                self._place,
                self._directory,
                zones=zones,
                profiles=profiles,
                max_connections=self._max_connections,
            )
            known = self._in_force if wanted.revision != self._revision else None
            problems = self._carry_out(plan, known, links, namespaces)
            self._in_force, self._revision = plan, wanted.revision
            self._failed = {problem.id for problem in problems}
            if tap_lines(plan, links):
                links = links_there(self._commands)
            self._links = links
            return NetworksApplied(wanted.revision, self._active(plan, links), (*plan.problems, *problems))

    def plug(self, port: PortSpec) -> Tap:
        """As HostPlug says."""
        plan = self._in_force
        tap = plan.taps.get(port.id) if plan is not None else None
        if tap is None:
            raise NetworkError(f"port {port.id} is not among those that this host has been told of")
        made = BatchLine(self._made(tap.name), "port", port.id)
        # What was not there when the document was carried out is not there now, but for a guest that starts once more.
        problems = [] if tap.name in self._links else self._commands.ip_batch([made, *joined(tap, None)])
        if problems or tap.name in self._links:
            there = self._link(tap.name)
            lines = [] if there is not None else [made]
            problems = self._commands.ip_batch([*lines, *joined(tap, there)])
        if problems:
            raise NetworkError("; ".join(problem.message for problem in problems))
        reach("computeagent.networks.bridge.plug:plugged")
        return Tap(tap.name, tap.mtu)

    def unplug(self, port_id: str) -> None:
        """As HostPlug says."""
        name = tap_name(port_id)
        if self._link(name) is None:
            return
        problems = self._commands.ip_batch([BatchLine(f"link delete dev {name}", "port", port_id)])
        if problems and self._link(name) is not None:
            raise NetworkError(problems[0].message)

    def service_prefix(self, network_id: str) -> tuple[str, ...] | None:
        """As HostPlug says."""
        plan = self._in_force
        if plan is None:  # an earlier run may have made it, and its guests are served before a document comes
            return self._commands.inside(service_namespace(self._place.namespace_prefix, network_id)).prefix
        service = plan.services.get(network_id)
        if service is None or network_id in self._failed:
            return None
        return self._commands.inside(service.namespace).prefix

    def _look(self) -> tuple[dict[str, Link], set[str]]:
        """Links and namespaces that are there. Raises NetworkError."""
        with ThreadPoolExecutor(1) as aside:
            ours = own_namespaces(self._place.namespace_prefix)
            namespaces = aside.submit(namespaces_there, self._commands, ours)
            return links_there(self._commands), namespaces.result()

    def _carry_out(
        self, plan: HostPlan, known: HostPlan | None, links: Mapping[str, Link], namespaces: set[str]
    ) -> list[NetworkProblem]:
        """Rules before taps are joined, and beside them what serves guests; what is no longer wanted goes last.
        `known`: what is there unless it failed.
        """
        problems = self._commands.ip_batch(bridge_lines(plan, links))
        reach("computeagent.networks.bridge.plug:bridged")
        if known is None or known.bridges != plan.bridges or problems:
            problems += self._commands.ip_batch(peer_lines(plan, self._commands, links), "bridge")
        with ThreadPoolExecutor(AT_ONCE) as aside:
            served = [
                aside.submit(self._serve, service, known, links, namespaces) for service in plan.services.values()
            ]
            self._rule(plan.tables, is_known=known is not None)
            reach("computeagent.networks.bridge.plug:guarded")
            problems += self._commands.ip_batch(tap_lines(plan, links))
            reach("computeagent.networks.bridge.plug:joined")
            problems += [problem for each in served for problem in each.result()]
        problems += self._routers(plan, known, links, namespaces)
        return [*problems, *self._remove(plan, links, namespaces)]

    def _rule(self, tables: tuple[Table, ...], *, is_known: bool) -> None:
        """Have these tables, in one transaction. Raises NetworkError; those of before are in force then."""
        if is_known and self._tables is not None:
            text = change(self._tables, tables)
            try:
                if text:
                    self._commands.run(("nft", "-f", "-"), text)
            except NetworkError:
                _log.warning("nftables of this host are not as they were left: they are made anew")
            else:
                self._tables = tables
                return
        self._commands.run(("nft", "-f", "-"), whole(tables))
        self._tables = tables

    def _serve(
        self, service: ServicePlan, known: HostPlan | None, links: Mapping[str, Link], namespaces: set[str]
    ) -> list[NetworkProblem]:
        """Have a network's service namespace with its DHCP server."""
        problems: list[NetworkProblem] = []
        network_id = service.network_id
        has_namespace, has_link = service.namespace in namespaces, service.link in links
        before = known.services.get(network_id) if known is not None and network_id not in self._failed else None
        is_same = before is not None and replace(before, dhcp=service.dhcp) == service
        try:
            if not (is_same and has_namespace and has_link):
                problems += service_ensure(
                    self._commands, self._directory, service, has_namespace=has_namespace, has_link=has_link
                )
            service_serve(self._commands, self._directory, service)
        except (NetworkError, OSError) as error:
            problems.append(NetworkProblem("network", network_id, str(error)))
        return problems

    def _routers(
        self, plan: HostPlan, known: HostPlan | None, links: Mapping[str, Link], namespaces: set[str]
    ) -> list[NetworkProblem]:
        problems: list[NetworkProblem] = []
        for router_id, router in plan.routers.items():
            has_namespace = router.namespace in namespaces
            before = known.routers.get(router_id) if known is not None and router_id not in self._failed else None
            has_links = all(leg.link in links for leg in router.legs)
            if before == router and has_namespace and has_links and advertises(router, self._directory):
                continue
            try:
                problems += router_ensure(
                    self._commands, self._directory, router, before, has_namespace=has_namespace, links=frozenset(links)
                )
            except (NetworkError, OSError) as error:
                problems.append(NetworkProblem("router", router_id, str(error)))
        return problems

    def _remove(self, plan: HostPlan, links: Mapping[str, Link], namespaces: set[str]) -> list[NetworkProblem]:
        problems = []
        for kind, wanted in (("dhcp", plan.services), ("routers", plan.routers)):
            for directory in (self._directory / kind).glob("*"):
                if directory.name not in wanted:
                    try:
                        dhcp_remove(directory)
                    except NetworkError as error:
                        problems.append(NetworkProblem("host", "", str(error)))
        reach("computeagent.networks.bridge.plug:ended")
        wanted_namespaces = {each.namespace for each in plan.services.values()}
        wanted_namespaces |= {each.namespace for each in plan.routers.values()}
        for name in sorted(namespaces - wanted_namespaces):
            try:
                namespace_remove(self._commands, name)
            except NetworkError as error:
                problems.append(NetworkProblem("host", "", str(error)))
        reach("computeagent.networks.bridge.plug:emptied")
        # Links of namespaces that were just removed may be gone by now, or not yet.
        lines = removal_lines(plan, links)
        failed = self._commands.ip_batch(lines)
        if failed:
            still = links_there(self._commands)
            failed = [problem for problem in failed if any(f"dev {name}:" in problem.message for name in still)]
        return [*problems, *failed]

    def _active(self, plan: HostPlan, links: Mapping[str, Link]) -> tuple[str, ...]:
        return tuple(port_id for port_id, tap in plan.taps.items() if tap.name in links and links[tap.name].is_up)

    def _made(self, name: str) -> str:
        owner = f" user {self._place.tap_uid}" if self._place.tap_uid is not None else ""
        return f"tuntap add dev {name} mode tap vnet_hdr{owner}"

    def _link(self, name: str) -> Link | None:
        try:
            return links_there(self._commands, "dev", name).get(name)
        except NetworkError as error:
            if "does not exist" in str(error):
                return None
            raise
