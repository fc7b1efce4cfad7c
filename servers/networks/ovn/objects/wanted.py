"""All rows that a state calls for, by owner."""

from servers.networks.ovn.objects.groups import drop_rows, group_rows
from servers.networks.ovn.objects.networks import network_rows
from servers.networks.ovn.objects.ports import port_rows
from servers.networks.ovn.objects.routers import router_rows
from servers.networks.ovn.objects.row import DROP, NorthboundRow, group_key, network_key, port_key, router_key
from servers.networks.ovn.objects.state import OvnLayout, OvnState


def wanted_rows(state: OvnState, layout: OvnLayout) -> dict[str, list[NorthboundRow]]:
    """{owner: its rows}: what all others build on first, routers last."""
    networks = {network.id: network for network in state.networks}
    return (
        {DROP: drop_rows()}
        | {network_key(one.id): network_rows(one) for one in state.networks}
        | {group_key(one.id): group_rows(one, state.pairs.get(one.id, ())) for one in state.groups}
        | {port_key(one.port.id): port_rows(one, networks) for one in state.ports}
        | {router_key(one.router.id): router_rows(one, networks, layout) for one in state.routers}
    )
