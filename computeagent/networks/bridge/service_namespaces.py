"""A network's service namespace on this host: where its guests here find DHCP and metadata, under 169.254.169.254.

It has no way to anywhere but to the network's guests on this host, so whoever serves there is reached by them alone.
"""

from ipaddress import IPv4Interface
from pathlib import Path

from computeagent.networks.bridge.commands import BatchLine, Commands
from computeagent.networks.bridge.compiling import service_directory
from computeagent.networks.bridge.dhcp_server import dhcp_ensure, dhcp_remove
from computeagent.networks.bridge.links import member_texts
from computeagent.networks.bridge.names import METADATA_ADDRESS, SERVICE_LINK, SERVICE_MAC
from computeagent.networks.bridge.namespaces import InnerLink, inner_lines, namespace_lost_remove
from computeagent.networks.bridge.plan import ServicePlan
from computeagent.protocol.networks import NetworkProblem
from controlplane.kernel.kill_points import reach


def service_ensure(
    commands: Commands, directory: Path, service: ServicePlan, *, has_namespace: bool, has_link: bool
) -> list[NetworkProblem]:
    """Have the namespace as planned. Raises NetworkError."""
    lines = []
    if not has_namespace:
        files = service_directory(directory, service.network_id)
        namespace_lost_remove(commands, [service.link] if has_link else [], files)
        lines.append(f"netns add {service.namespace}")
        has_link = False
    if not has_link:
        lines.append(
            f"link add name {service.link} type veth peer name {SERVICE_LINK} address {SERVICE_MAC} "
            f"netns {service.namespace}"
        )
    lines += member_texts(service.link, service.bridge, service.mtu)
    problems = commands.ip_batch([BatchLine(line, "network", service.network_id) for line in lines])
    reach("computeagent.networks.bridge.service_namespaces:added")
    inside = commands.inside(service.namespace)
    addresses = (IPv4Interface(f"{METADATA_ADDRESS}/32"), *service.addresses)
    routes = [f"{cidr} dev {SERVICE_LINK} src {METADATA_ADDRESS}" for cidr in service.on_link]
    link = InnerLink(SERVICE_LINK, service.mtu, addresses)
    lines_inside = inner_lines(inside, [link], routes, "network", service.network_id, is_new=not has_namespace)
    problems += inside.ip_batch(list(lines_inside))
    reach("computeagent.networks.bridge.service_namespaces:addressed")
    return problems


def service_serve(commands: Commands, directory: Path, service: ServicePlan) -> None:
    """Have its DHCP server as planned. Raises NetworkError."""
    files = service_directory(directory, service.network_id)
    if service.dhcp is not None:
        dhcp_ensure(commands.inside(service.namespace), files, service.dhcp)
    elif files.exists():
        dhcp_remove(files)
