"""Networks, subnets and ports in Neutron's words: made, shown, changed, removed; what is refused and how."""

import uuid
from typing import Any

import pytest

from servers.models import Network, Port
from tests.worlds.neutron import Neutron

NETWORK_FIELDS = {
    *("id", "name", "description", "project_id", "tenant_id", "status", "admin_state_up", "shared", "router:external"),
    *("mtu", "port_security_enabled", "subnets", "tags", "created_at", "updated_at"),
}


def test_network_is_shown_to_its_project_and_what_is_below_to_administrators(world: Neutron) -> None:
    shown = world.member.get(f"networks/{world.ids['network_id']}")["network"]
    assert set(shown) == NETWORK_FIELDS
    assert (shown["name"], shown["status"], shown["mtu"], shown["shared"]) == ("lan", "ACTIVE", 1450, False)
    assert shown["subnets"] == [world.ids["subnet_id"]]
    assert shown["project_id"] == shown["tenant_id"] == world.ids["project_id"]
    assert shown["created_at"].endswith("Z")
    below = world.admin.get(f"networks/{world.ids['network_id']}")["network"]
    assert below["provider:network_type"] == "vxlan"
    assert below["provider:segmentation_id"] == Network.objects.get(pk=shown["id"]).segment
    # Of an external network others than its owner see no subnets.
    assert world.member.get(f"networks/{world.ids['public_id']}")["network"]["subnets"] == []
    assert len(world.admin.get(f"networks/{world.ids['public_id']}")["network"]["subnets"]) == 1


def test_network_changes_and_goes(world: Neutron) -> None:
    body = {"network": {"name": "more", "admin_state_up": False, "mtu": "1400", "port_security_enabled": False}}
    made = world.member.post("networks", body)["network"]
    assert (made["admin_state_up"], made["mtu"], made["port_security_enabled"]) == (False, 1400, False)
    changed = world.member.put(f"networks/{made['id']}", {"network": {"admin_state_up": True, "description": "d"}})
    assert (changed["network"]["admin_state_up"], changed["network"]["description"]) == (True, "d")
    assert changed["network"]["name"] == "more"
    world.member.delete(f"networks/{made['id']}")
    assert world.member.refused("GET", f"networks/{made['id']}", None, 404)[0] == "NetworkNotFound"
    assert world.member.refused("GET", "networks/more", None, 404)[0] == "NetworkNotFound"


def test_external_flat_network_is_for_administrators(world: Neutron) -> None:
    asked = {"router:external": True, "provider:network_type": "flat", "provider:physical_network": "physnet1"}
    body = {"network": {"name": "out", **asked}}
    assert world.member.refused("POST", "networks", body, 403)[0] == "PolicyNotAuthorized"
    made = world.admin.post("networks", body)["network"]
    assert {name: made[name] for name in asked} == asked
    world.admin.put(f"networks/{made['id']}", {"network": {"shared": True}})
    assert Network.objects.get(pk=made["id"]).is_shared
    assert world.member.refused("PUT", f"networks/{made['id']}", {"network": {"shared": False}}, 403)


def test_several_are_made_all_or_nothing(world: Neutron) -> None:
    made = world.member.post("networks", {"networks": [{"name": "a"}, {"name": "b"}]})["networks"]
    assert [one["name"] for one in made] == ["a", "b"]
    lan = made[0]["id"]
    subnets = [{"network_id": lan, "cidr": "10.5.0.0/24"}, {"network_id": lan, "cidr": "10.5.0.0/16"}]
    kind, message = world.member.refused("POST", "subnets", {"subnets": subnets}, 400)
    assert kind == "InvalidInput" and "10.5.0.0/24" in message
    assert world.member.get(f"subnets?network_id={lan}")["subnets"] == []
    world.member.post("subnets", {"subnets": subnets[:1]})
    ports = [{"network_id": lan}, {"network_id": lan, "fixed_ips": [{"ip_address": "10.6.0.1"}]}]
    assert world.member.refused("POST", "ports", {"ports": ports}, 400)[0] == "InvalidIpForNetwork"
    assert not Port.objects.filter(network=lan).exists()
    assert len(world.member.post("ports", {"ports": [{"network_id": lan}, {"network_id": lan}]})["ports"]) == 2


def test_subnet_with_everything_changes_and_goes(world: Neutron) -> None:
    network = world.member.post("networks", {"network": {"name": "n"}})["network"]["id"]
    asked: dict[str, Any] = {
        "name": "s",
        "gateway_ip": "10.7.0.254",
        "enable_dhcp": False,
        "allocation_pools": [{"start": "10.7.0.10", "end": "10.7.0.20"}],
        "dns_nameservers": ["9.9.9.9"],
        "host_routes": [{"destination": "10.9.0.0/16", "nexthop": "10.7.0.9"}],
    }
    body = {"subnet": {"network_id": network, "cidr": "10.7.0.0/24", "ip_version": 4, **asked}}
    made = world.member.post("subnets", body)["subnet"]
    assert {name: made[name] for name in asked} == asked
    assert (made["ip_version"], made["ipv6_ra_mode"]) == (4, None)
    change = {"gateway_ip": None, "dns_nameservers": [], "host_routes": [], "enable_dhcp": True}
    changed = world.member.put(f"subnets/{made['id']}", {"subnet": change})["subnet"]
    assert {name: changed[name] for name in change} == change
    world.member.delete(f"subnets/{made['id']}")
    six = {"network_id": network, "cidr": "fd00:7::/64", "ip_version": 6, "ipv6_ra_mode": "dhcpv6-stateful"}
    assert world.member.post("subnets", {"subnet": six})["subnet"]["ipv6_address_mode"] == "dhcpv6-stateful"
    slaac = {"network_id": network, "cidr": "fd00:8::/64", "ip_version": 6, "ipv6_ra_mode": "slaac"}
    assert "ipv6_ra_mode is" in world.member.refused("POST", "subnets", {"subnet": slaac}, 400)[1]
    shown = world.member.post("subnets", {"subnet": {**slaac, "ipv6_address_mode": "slaac"}})["subnet"]
    assert (shown["ipv6_ra_mode"], shown["ipv6_address_mode"]) == ("slaac", "slaac")
    for mode, cidr in (("slaac", "fd00:8::/64"), ("dhcpv6-stateful", "fd00:7::/64")):
        found = world.member.get(f"subnets?network_id={network}&ipv6_address_mode={mode}")["subnets"]
        assert [one["cidr"] for one in found] == [cidr]
    port = world.member.post("ports", {"port": {"network_id": network}})["port"]
    assert len([one for one in port["fixed_ips"] if one["subnet_id"] == shown["id"]]) == 1
    chosen = {"network_id": network, "fixed_ips": [{"ip_address": "fd00:8::9"}]}
    world.member.refused("POST", "ports", {"port": chosen}, 400)


def test_port_with_everything_changes_and_goes(world: Neutron) -> None:
    ids = world.ids
    asked: dict[str, Any] = {
        "name": "p",
        "mac_address": "fa:16:3e:00:00:07",
        "fixed_ips": [{"subnet_id": ids["subnet_id"], "ip_address": "10.1.0.77"}],
        "security_groups": [ids["group_id"]],
        "allowed_address_pairs": [{"ip_address": "10.1.0.99", "mac_address": "fa:16:3e:00:00:08"}],
        "admin_state_up": False,
        "binding:vnic_type": "normal",
    }
    made = world.member.post("ports", {"port": {"network_id": ids["network_id"], **asked}})["port"]
    assert {name: made[name] for name in asked} == asked
    assert (made["status"], made["device_id"], made["device_owner"]) == ("DOWN", "", "")
    assert "binding:host_id" not in made
    change = {"security_groups": [], "allowed_address_pairs": [], "port_security_enabled": False, "fixed_ips": []}
    changed = world.member.put(f"ports/{made['id']}", {"port": change})["port"]
    assert {name: changed[name] for name in change} == change
    assert world.admin.get(f"ports/{made['id']}")["port"]["binding:vif_type"] == "unbound"
    world.member.delete(f"ports/{made['id']}")
    assert world.member.refused("DELETE", f"ports/{made['id']}", None, 404)[0] == "PortNotFound"


@pytest.mark.parametrize(
    ("path", "body", "status", "kind", "word"),
    [
        ("networks", {"network": {"qos_policy_id": "x"}}, 400, "HTTPBadRequest", "qos_policy_id"),
        ("networks", {"network": {"provider:segmentation_id": 7}}, 400, "HTTPBadRequest", "segmentation_id"),
        ("networks", {"network": {"mtu": 9000}}, 400, "InvalidInput", "mtu"),
        ("networks", {"net": {}}, 400, "HTTPBadRequest", "net"),
        ("networks", [], 400, "HTTPBadRequest", "object"),
        ("networks", {"networks": []}, 400, "HTTPBadRequest", "networks"),
        ("subnets", {"subnet": {"network_id": "{network_id}", "cidr": "10.1.0.0/16"}}, 400, "InvalidInput", "10.1.0.0"),
        ("subnets", {"subnet": {"network_id": "{network_id}", "cidr": "x"}}, 400, "InvalidInput", "cidr"),
        (
            "subnets",
            {"subnet": {"network_id": "{network_id}", "cidr": "10.8.0.0/24", "ip_version": 6}},
            400,
            "InvalidInput",
            "ip_version",
        ),
        ("subnets", {"subnet": {"network_id": "0" * 32, "cidr": "10.8.0.0/24"}}, 404, "NetworkNotFound", "0000"),
        ("subnets", {"subnet": {"subnetpool_id": "x", "network_id": "x", "cidr": "x"}}, 400, "HTTPBadRequest", "x"),
        ("ports", {"port": {"network_id": "{network_id}", "device_id": "x"}}, 400, "HTTPBadRequest", "device_id"),
        ("ports", {"port": {"network_id": "{network_id}", "binding:host_id": "h"}}, 400, "HTTPBadRequest", "host_id"),
        (
            "ports",
            {"port": {"network_id": "{network_id}", "fixed_ips": [{"ip_address": "10.1.0.1"}]}},
            409,
            "IpAddressInUse",
            "10.1.0.1",
        ),
        (
            "ports",
            {"port": {"network_id": "{network_id}", "security_groups": ["0" * 32]}},
            404,
            "SecurityGroupNotFound",
            "0000",
        ),
        ("ports", {"port": {"network_id": "{network_id}", "mac_address": "x"}}, 400, "InvalidInput", "mac_address"),
        (
            "ports",
            {"port": {"network_id": "{network_id}", "binding:vnic_type": "direct"}},
            400,
            "InvalidInput",
            "binding:vnic_type",
        ),
    ],
)
def test_what_cannot_be_made_is_refused_by_name(
    world: Neutron, path: str, body: Any, status: int, kind: str, word: str
) -> None:
    for things in body.values() if isinstance(body, dict) else ():
        if isinstance(things, dict) and things.get("network_id") == "{network_id}":
            things["network_id"] = world.ids["network_id"]
    found, message = world.member.refused("POST", path, body, status)
    assert found == kind
    assert word in message


def test_what_says_what_is_done_anyway_is_accepted(world: Neutron) -> None:
    network = {"availability_zone_hints": [], "is_default": False, "qos_policy_id": None, "vlan_transparent": None}
    made = world.member.post("networks", {"network": network})["network"]
    subnet = {"ipv6_ra_mode": None, "subnetpool_id": None, "service_types": [], "ip_version": "4"}
    world.member.post("subnets", {"subnet": {"network_id": made["id"], "cidr": "10.8.0.0/24", **subnet}})
    port = {"device_id": "", "device_owner": "", "binding:profile": {}, "extra_dhcp_opts": [], "dns_name": ""}
    world.member.post("ports", {"port": {"network_id": made["id"], **port}})


def test_what_is_in_use_stays(world: Neutron) -> None:
    assert world.member.refused("DELETE", f"networks/{world.ids['network_id']}", None, 409)[0] == "NetworkInUse"
    assert world.member.refused("DELETE", f"subnets/{world.ids['subnet_id']}", None, 409)[0] == "SubnetInUse"
    (leg,) = world.member.get(f"ports?device_id={world.ids['router_id']}&device_owner=network:router_interface")[
        "ports"
    ]
    assert world.member.refused("DELETE", f"ports/{leg['id']}", None, 409)[0] == "PortInUse"
    change = {"subnet": {"gateway_ip": None}}
    assert world.member.refused("PUT", f"subnets/{world.ids['subnet_id']}", change, 409)[0] == "GatewayIpInUse"


def test_over_quota_is_a_409_of_its_own_type(world: Neutron) -> None:
    world.admin.put(f"quotas/{world.ids['project_id']}", {"quota": {"network": 1}})
    kind, message = world.member.refused("POST", "networks", {"network": {"name": "x"}}, 409)
    assert kind == "OverQuota"
    assert "networks" in message
    assert world.member.refused("POST", "networks", {"networks": [{}, {}]}, 409)[0] == "OverQuota"


def test_a_port_that_holds_a_floating_address_and_a_leg_say_what_they_are_for(world: Neutron) -> None:
    (held,) = world.admin.get("ports?device_owner=network:floatingip")["ports"]
    assert (held["device_id"], held["status"], held["project_id"]) == (world.ids["floating_ip_id"], "N/A", "")
    assert world.admin.get(f"ports?device_id={world.ids['floating_ip_id']}")["ports"] == [held]
    legs = world.admin.get(f"ports?device_id={world.ids['router_id']}&status=ACTIVE")["ports"]
    assert {leg["device_owner"] for leg in legs} == {"network:router_interface", "network:router_gateway"}


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_address_of_a_change_has_no_parameters(world: Neutron, method: str) -> None:
    path = "networks" if method == "POST" else f"networks/{world.ids['network_id']}"
    body = None if method == "DELETE" else {"network": {"name": "other"}}
    _, said = world.member.refused(method, f"{path}?no_such=1", body, 400)
    assert "no_such are not known here" in said
    assert [one["name"] for one in world.member.get("networks?name=lan&name=other")["networks"]] == ["lan"]


def test_what_a_port_asks_of_placement_administrators_see_and_nobody_writes(world: Neutron) -> None:
    port_id = world.ids["port_id"]
    assert world.admin.get(f"ports/{port_id}")["port"]["resource_request"] is None
    group = {"resources": {"NET_BW_EGR_KILOBIT_PER_SEC": 2000}, "required": ["CUSTOM_PHYSNET_FAST"]}
    Port.objects.filter(pk=port_id).update(resource_request={"out": group})
    shown = world.admin.get(f"ports/{port_id}")["port"]["resource_request"]
    (found,) = shown["request_groups"]
    assert uuid.UUID(found.pop("id")) and (found, shown["same_subtree"]) == (group, [])
    for other in (world.member, world.reader):
        assert "resource_request" not in other.get(f"ports/{port_id}")["port"]
    world.stranger.get(f"ports/{port_id}", 404)
    said = {"port": {"resource_request": None}}
    assert "resource_request" in world.admin.refused("PUT", f"ports/{port_id}", said, 400)[1]
    listed = {one["alias"] for one in world.member.get("extensions")["extensions"]}
    assert {"port-resource-request", "port-resource-request-groups"} <= listed
