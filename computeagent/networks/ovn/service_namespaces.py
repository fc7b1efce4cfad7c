"""A network's service namespace on this host: where the metadata service answers its guests here.

OVN keeps what guests send to the `localport` on their own host. DHCP is OVN's.
"""

from ipaddress import IPv4Interface, ip_network

from computeagent.networks.base import NetworkError
from computeagent.networks.bridge.commands import BatchLine, Commands
from computeagent.networks.bridge.names import METADATA_ADDRESS, SERVICE_LINK, SERVICE_PREFIX, device_name
from computeagent.networks.bridge.namespaces import InnerLink, inner_lines
from computeagent.networks.ovn.switch import Switch
from computeagent.protocol.networks import NetworkProblem, NetworkSpec, metadata_mac, metadata_port
from controlplane.kernel.kill_points import reach


def has_service(network: NetworkSpec) -> bool:
    """Whether guests of the network can reach an IPv4 address at all."""
    return any(ip_network(subnet.cidr).version == 4 for subnet in network.subnets)


def service_link(network_id: str) -> str:
    """The end of the namespace's link that is joined to the switch."""
    return device_name(SERVICE_PREFIX, network_id)


def service_ensure(
    commands: Commands,
    switch: Switch,
    namespace: str,
    network: NetworkSpec,
    *,
    there: frozenset[str],
    in_user_space: bool,
) -> list[NetworkProblem]:
    """Have it. `there` are names of namespaces and links that are. Raises NetworkError."""
    link, mac = service_link(network.id), metadata_mac(network.id)
    if namespace not in there:
        # One that lost its name keeps the other end of the link, which goes with this one.
        commands.ip_batch([BatchLine(f"link delete dev {link}")] if link in there else [])
        commands.run(("ip", "netns", "add", namespace))
        there -= {link}
    reach("computeagent.networks.ovn.service_namespaces:added")
    lines = []
    if link not in there:
        lines.append(f"link add name {link} type veth peer name {SERVICE_LINK} address {mac} netns {namespace}")
    lines.append(f"link set dev {link} mtu {network.mtu} addrgenmode none up")
    problems = commands.ip_batch([BatchLine(line, "network", network.id) for line in lines])
    inside = commands.inside(namespace)
    subnets = [subnet for subnet in network.subnets if ip_network(subnet.cidr).version == 4]
    own = [IPv4Interface(f"{subnet.metadata_address}/32") for subnet in subnets if subnet.metadata_address]
    addresses = (IPv4Interface(f"{METADATA_ADDRESS}/32"), *own)
    routes = [f"{subnet.cidr} dev {SERVICE_LINK} src {METADATA_ADDRESS}" for subnet in subnets]
    inner = InnerLink(SERVICE_LINK, network.mtu, addresses)
    problems += inside.ip_batch(list(inner_lines(inside, [inner], routes, "network", network.id)))
    if in_user_space:
        try:
            inside.run(("ethtool", "-K", SERVICE_LINK, "tx", "off"))
        except NetworkError as error:
            problems.append(NetworkProblem("network", network.id, f"its metadata service is not reached: {error}"))
    switch.join(link, metadata_port(network.id), mac)
    return problems
