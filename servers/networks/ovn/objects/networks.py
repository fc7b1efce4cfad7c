"""A network: its switch, the ports of it that belong to no guest, and what DHCP says in each subnet."""

import ipaddress
from hashlib import sha256

from computeagent.protocol.networks import Ipv6Mode, NetworkSpec, SubnetSpec, metadata_mac, metadata_port
from servers.networks.ovn.objects.row import Columns, NorthboundRow, dhcp_key, network_key

LEASE_S = 43200
METADATA = "169.254.169.254"


def network_rows(network: NetworkSpec) -> list[NorthboundRow]:
    """Everything that is there for the network itself."""
    key = network_key(network.id)
    rows = [NorthboundRow("Logical_Switch", key, key, {"name": network.id})]
    if network.physical_network:
        rows.append(_localnet(network))
    if any(_version(subnet) == 4 for subnet in network.subnets):
        rows.append(_metadata(network))
    return rows + [_dhcp(network, subnet) for subnet in network.subnets if answers_dhcp(subnet)]


def answers_dhcp(subnet: SubnetSpec) -> bool:
    """Whether guests of the subnet ask DHCP for anything."""
    return subnet.has_dhcp and subnet.ipv6_mode != Ipv6Mode.SLAAC


def _localnet(network: NetworkSpec) -> NorthboundRow:
    columns: Columns = {
        "name": f"localnet-{network.id}",
        "type": "localnet",
        "addresses": ("unknown",),
        "options": {"network_name": network.physical_network},
    }
    key = network_key(network.id)
    return NorthboundRow("Logical_Switch_Port", f"localnet:{network.id}", key, columns, parent=key, column="ports")


def _metadata(network: NetworkSpec) -> NorthboundRow:
    """A port that is at each chassis, so that guests reach the metadata service of their own."""
    own = [subnet.metadata_address for subnet in network.subnets if subnet.metadata_address]
    columns: Columns = {
        "name": metadata_port(network.id),
        "type": "localport",
        "addresses": (" ".join([metadata_mac(network.id), *own, METADATA]),),
        "options": {},
    }
    key = network_key(network.id)
    return NorthboundRow("Logical_Switch_Port", f"metadata:{network.id}", key, columns, parent=key, column="ports")


def _dhcp(network: NetworkSpec, subnet: SubnetSpec) -> NorthboundRow:
    options = _options_v4(network, subnet) if _version(subnet) == 4 else _options_v6(subnet)
    columns: Columns = {"cidr": subnet.cidr, "options": options}
    return NorthboundRow("DHCP_Options", dhcp_key(subnet.id), network_key(network.id), columns)


def _options_v4(network: NetworkSpec, subnet: SubnetSpec) -> dict[str, str]:
    """Clients that take option 121 ignore the router of option 3 (RFC 3442), so the default route is in both."""
    routes = [(route.destination, route.nexthop) for route in subnet.routes if ":" not in route.destination]
    # Nobody has the address 0.0.0.0: such a route says that the destination is on the link itself.
    routes.append((f"{METADATA}/32", subnet.metadata_address or "0.0.0.0"))  # noqa: S104
    if subnet.gateway and not any(destination == "0.0.0.0/0" for destination, _ in routes):
        routes.append(("0.0.0.0/0", subnet.gateway))
    options = {
        "server_id": subnet.metadata_address or subnet.gateway or METADATA,
        "server_mac": _server_mac(subnet),
        "lease_time": str(LEASE_S),
        "mtu": str(network.mtu),
        "classless_static_route": f"{{{', '.join(f'{to},{over}' for to, over in routes)}}}",
    }
    if subnet.gateway:
        options["router"] = subnet.gateway
    if servers := [one for one in subnet.dns_servers if ":" not in one]:
        options["dns_server"] = f"{{{', '.join(servers)}}}"
    return options


def _options_v6(subnet: SubnetSpec) -> dict[str, str]:
    """Routes come from the router's advertisements."""
    options = {"server_id": _server_mac(subnet)}
    if subnet.ipv6_mode == Ipv6Mode.STATELESS:
        options["dhcpv6_stateless"] = "true"
    if servers := [one for one in subnet.dns_servers if ":" in one]:
        options["dns_server"] = f"{{{', '.join(servers)}}}"
    return options


def _server_mac(subnet: SubnetSpec) -> str:
    """Whom clients renew their leases with: the same as long as the subnet is there."""
    digits = sha256(f"dhcp {subnet.id}".encode()).hexdigest()
    return f"fa:16:3f:{digits[0:2]}:{digits[2:4]}:{digits[4:6]}"


def _version(subnet: SubnetSpec) -> int:
    return ipaddress.ip_network(subnet.cidr).version
