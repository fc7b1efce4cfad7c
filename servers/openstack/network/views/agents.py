"""Hosts that carry networks, as Neutron's clients know them: agents. For administrators."""

from typing import Any
from uuid import NAMESPACE_URL, uuid5

from computeagent.protocol.network_traits import backend_trait
from computeagent.protocol.networks import NetworkBackendKind
from controlplane.openstack.answers import JsonAnswer
from controlplane.openstack.faults import not_found
from scheduling.fleet.selectors.zones import zone_list
from servers.networks.domain.router_host import RouterHost
from servers.networks.selectors.routers import router_hosts
from servers.openstack.network.call import NetworkCall
from servers.openstack.network.faults import invalid_input
from servers.openstack.network.listing import flag_of
from servers.openstack.network.shapes import AgentJson, AgentShown, AgentsShown

_TYPES = {
    NetworkBackendKind.BRIDGE: "Linux bridge agent",
    NetworkBackendKind.OVN: "OVN Controller agent",
}
_FLAGS = ("alive", "admin_state_up")
_TEXTS = ("id", "host", "agent_type", "availability_zone", "binary")


def agents_list(call: NetworkCall) -> JsonAnswer[AgentsShown]:
    """All of them by host, in one page."""
    wanted: dict[str, set[Any]] = {}
    for name in call.query:
        if name == "fields":
            continue
        if name not in _FLAGS + _TEXTS:
            raise invalid_input(name, "It is no filter of agents.")
        try:
            wanted[name] = {flag_of(value) if name in _FLAGS else value for value in call.query.getlist(name)}
        except ValueError as error:
            raise invalid_input(name, str(error)) from error
    found = [row for row in _agents() if all(row.get(name) in values for name, values in wanted.items())]
    return call.answer({"agents": [call.chosen(row) for row in found]})


def agent_show(call: NetworkCall, agent_id: str) -> JsonAnswer[AgentShown]:
    """One of them."""
    found = next((row for row in _agents() if row["id"] == agent_id), None)
    if found is None:
        raise not_found(f"Agent {agent_id:.80} could not be found.", code="AgentNotFound")
    return call.answer({"agent": call.chosen(found)})


def _agents() -> list[AgentJson]:
    zones = {host: zone.name for zone in zone_list() for host in zone.hosts}
    return [
        _agent_json(host, kind, zones.get(host.name, ""))
        for host in router_hosts()
        for kind in _TYPES
        if backend_trait(kind) in host.traits
    ]


def _agent_json(host: RouterHost, kind: NetworkBackendKind, zone: str) -> AgentJson:
    return {
        "id": str(uuid5(NAMESPACE_URL, f"network-agent:{kind}:{host.name}")),
        "agent_type": _TYPES[kind],
        "binary": "kilonova-agent",
        "host": host.name,
        "availability_zone": zone,
        "alive": host.is_up and not host.is_forced_down,
        "admin_state_up": not host.is_disabled,
        "configurations": {"routers": host.routers},
    }
