"""What a guest reads of its network cards."""

from dataclasses import replace

import pytest

from computeagent.drivers.guest_documents import meta_data
from computeagent.drivers.network_documents import network_data, tagged_cards
from computeagent.protocol.guests import GuestSpec, PortSpec
from computeagent.protocol.networks import FixedAddress, HostRoute, NetworkBackendKind, SubnetSpec

OWN = PortSpec(mac="52:54:00:00:00:01", network="default", id="11111111-0000-0000-0000-000000000000")
DHCP = SubnetSpec("s1", "10.1.0.0/16", "10.1.0.1", dns_servers=("10.1.0.53",))
FIXED = SubnetSpec(
    "s2",
    "10.2.0.0/24",
    "10.2.0.1",
    has_dhcp=False,
    dns_servers=("9.9.9.9",),
    routes=(HostRoute("10.9.0.0/16", "10.2.0.9"),),
)
SLAAC_SIX = SubnetSpec("s5", "fd00:3::/64", "fd00:3::1", ipv6_mode="slaac")
DHCP_SIX = SubnetSpec("s3", "fd00:1::/64", "fd00:1::1")
FIXED_SIX = SubnetSpec("s4", "fd00:2::/64", has_dhcp=False)
CARRIED = PortSpec(
    mac="fa:16:3e:00:00:02",
    network="n1",
    id="22222222-3333-4444-5555-666666666666",
    kind=NetworkBackendKind.BRIDGE,
    mtu=1442,
    tag="back",
    addresses=(FixedAddress("s1", "10.1.0.5"), FixedAddress("s2", "10.2.0.5"), FixedAddress("s3", "fd00:1::5")),
    subnets=(DHCP, FIXED, DHCP_SIX),
)


def test_card_in_a_hypervisors_own_network_gets_its_address_by_dhcp() -> None:
    assert network_data([OWN]) == {
        "links": [{"id": "tap0", "type": "phy", "ethernet_mac_address": OWN.mac, "mtu": 1500, "vif_id": "port0"}],
        "networks": [{"id": "network0", "type": "ipv4_dhcp", "link": "tap0", "network_id": "default"}],
        "services": [],
    }


def test_card_in_a_network_of_ours_has_what_its_subnets_say() -> None:
    link = "tp222222223333"
    assert network_data([OWN, CARRIED]) == {
        "links": [
            {"id": "tap0", "type": "phy", "ethernet_mac_address": OWN.mac, "mtu": 1500, "vif_id": "port0"},
            {"id": link, "type": "phy", "ethernet_mac_address": CARRIED.mac, "mtu": 1442, "vif_id": CARRIED.id},
        ],
        "networks": [
            {"id": "network0", "type": "ipv4_dhcp", "link": "tap0", "network_id": "default"},
            {"id": "network1", "type": "ipv4_dhcp", "link": link, "network_id": "n1"},
            {
                "id": "network2",
                "type": "ipv4",
                "link": link,
                "network_id": "n1",
                "ip_address": "10.2.0.5",
                "netmask": "255.255.255.0",
                "routes": [
                    {"network": "0.0.0.0", "netmask": "0.0.0.0", "gateway": "10.2.0.1"},  # noqa: S104 - a route
                    {"network": "10.9.0.0", "netmask": "255.255.0.0", "gateway": "10.2.0.9"},
                ],
                "services": [{"type": "dns", "address": "9.9.9.9"}],
            },
            {"id": "network3", "type": "ipv6_dhcpv6-stateful", "link": link, "network_id": "n1"},
        ],
        "services": [{"type": "dns", "address": "10.1.0.53"}, {"type": "dns", "address": "9.9.9.9"}],
    }


@pytest.mark.parametrize("vnic_type", ["direct", "macvtap"])
def test_a_device_is_told_its_addresses_since_no_dhcp_hears_it(vnic_type: str) -> None:
    addresses = (FixedAddress("s1", "10.1.0.5"), FixedAddress("s5", "fd00:3::5"))
    port = replace(CARRIED, vnic_type=vnic_type, addresses=addresses, subnets=(DHCP, SLAAC_SIX))
    four, six = network_data([port])["networks"]  # type: ignore[misc]
    assert (four["type"], four["ip_address"], four["netmask"]) == ("ipv4", "10.1.0.5", "255.255.0.0")
    assert four["routes"] == [{"network": "0.0.0.0", "netmask": "0.0.0.0", "gateway": "10.1.0.1"}]  # noqa: S104
    assert (six["type"], six["ip_address"]) == ("ipv6", "fd00:3::5")


def test_static_ipv6_without_a_gateway() -> None:
    port = replace(CARRIED, addresses=(FixedAddress("s4", "fd00:2::5"),), subnets=(FIXED_SIX,))
    (network,) = network_data([port])["networks"]  # type: ignore[misc]
    assert (network["type"], network["netmask"], network["routes"]) == ("ipv6", "ffff:ffff:ffff:ffff::", [])


def test_tagged_cards_are_devices(guest_spec: GuestSpec) -> None:
    device = {"type": "nic", "bus": "none", "address": "none", "mac": CARRIED.mac, "tags": ["back"]}
    assert tagged_cards([OWN, CARRIED]) == [device]
    assert meta_data(replace(guest_spec, ports=(OWN, CARRIED)), seed=b"s")["devices"] == [device]


@pytest.mark.parametrize("mode", ["slaac", "dhcpv6-stateless", "dhcpv6-stateful"])
def test_the_guest_is_told_whence_its_address_is(mode: str) -> None:
    subnet = replace(SLAAC_SIX, ipv6_mode=mode)
    port = replace(CARRIED, addresses=(FixedAddress("s5", "fd00:3::5"),), subnets=(subnet,))
    (network,) = network_data([port])["networks"]  # type: ignore[misc]
    assert network["type"] == f"ipv6_{mode}" and "ip_address" not in network
