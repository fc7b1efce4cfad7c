"""What a guest reads of its network cards: network_data.json, and the tagged cards in meta_data.json, as Nova has them.

Layout: https://docs.openstack.org/nova/latest/user/metadata.html and Nova's schema of network_data.json.
"""

from collections.abc import Sequence
from dataclasses import replace
from ipaddress import ip_network

from computeagent.networks.base import tap_name
from computeagent.protocol.guests import PortSpec
from computeagent.protocol.networks import FixedAddress, Ipv6Mode, SubnetSpec

MTU = 1500
"""Of a hypervisor's own network, which says none."""
Json = dict[str, object]


def network_data(ports: Sequence[PortSpec]) -> Json:
    """Each card by its MAC, with its addresses: by DHCP where the subnet has it, else as they are. A card that is a
    device of the host's is behind no tap, where DHCP of ours would hear it: of it they are always as they are.
    """
    links: list[Json] = []
    networks: list[Json] = []
    name_servers: list[str] = []
    for number, port in enumerate(ports):
        link = tap_name(port.id) if port.subnets else f"tap{number}"
        links.append(
            {
                "id": link,
                "type": "phy",
                "ethernet_mac_address": port.mac,
                "mtu": port.mtu or MTU,
                "vif_id": port.id if port.subnets else f"port{number}",
            }
        )
        subnets = {subnet.id: subnet for subnet in port.subnets}
        if port.is_device:
            subnets = {subnet.id: replace(subnet, has_dhcp=False) for subnet in port.subnets}
        known = [(one, subnets[one.subnet_id]) for one in port.addresses if one.subnet_id in subnets]
        for address, subnet in known:
            networks.append(_network(f"network{len(networks)}", link, port.network, address, subnet))
            name_servers += [each for each in subnet.dns_servers if each not in name_servers]
        if not port.subnets:
            networks.append(
                {"id": f"network{len(networks)}", "type": "ipv4_dhcp", "link": link, "network_id": port.network}
            )
    return {"links": links, "networks": networks, "services": [_dns(address) for address in name_servers]}


def _network(name: str, link: str, network_id: str, address: FixedAddress, subnet: SubnetSpec) -> Json:
    found = ip_network(subnet.cidr)
    document: Json = {"id": name, "link": link, "network_id": network_id}
    if subnet.has_dhcp:
        # By IPv6 the way out comes by the router's advertisements, the address by DHCP or of the advertised prefix.
        mode = subnet.ipv6_mode or Ipv6Mode.STATEFUL
        return {**document, "type": "ipv4_dhcp" if found.version == 4 else f"ipv6_{mode}"}
    routes = [(route.destination, route.nexthop) for route in subnet.routes]
    if subnet.gateway:
        routes.insert(0, ("0.0.0.0/0" if found.version == 4 else "::/0", subnet.gateway))
    return {
        **document,
        "type": f"ipv{found.version}",
        "ip_address": address.address,
        "netmask": str(found.netmask),
        "routes": [_route(destination, gateway) for destination, gateway in routes],
        "services": [_dns(each) for each in subnet.dns_servers],
    }


def _route(destination: str, gateway: str) -> Json:
    network = ip_network(destination)
    return {"network": str(network.network_address), "netmask": str(network.netmask), "gateway": gateway}


def _dns(address: str) -> Json:
    return {"type": "dns", "address": address}


def tagged_cards(ports: Sequence[PortSpec]) -> list[Json]:
    """For `devices` of meta_data.json. Where a card is plugged is known only once the guest runs: then, as in Nova, bus
    and address are `none`, and the MAC address tells which one it is.
    """
    return [
        {"type": "nic", "bus": "none", "address": "none", "mac": port.mac, "tags": [port.tag]}
        for port in ports
        if port.tag
    ]
