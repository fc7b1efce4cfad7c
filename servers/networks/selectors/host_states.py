"""How far hosts are with their networks, for operators."""

from servers.models import HostNetworkState


def host_network_state(host: str) -> HostNetworkState:
    """What it is to have and has in force; a host that was never to have anything is at revision 0."""
    return HostNetworkState.objects.filter(host=host).first() or HostNetworkState(host=host)
