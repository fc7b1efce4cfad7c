"""Routers, their interfaces and floating addresses in Neutron's words."""

import pytest

from servers.models import FloatingIP, Port, Router
from tests.worlds.neutron import Neutron


def test_router_shows_its_gateway_and_loses_and_gets_it(world: Neutron) -> None:
    path = f"routers/{world.ids['router_id']}"
    shown = world.member.get(path)["router"]
    gateway = shown["external_gateway_info"]
    assert (gateway["network_id"], gateway["enable_snat"]) == (world.ids["public_id"], True)
    assert gateway["external_fixed_ips"][0]["ip_address"].startswith("203.0.113.")
    assert (shown["status"], shown["admin_state_up"], shown["routes"]) == ("ACTIVE", True, [])
    assert world.member.put(path, {"router": {"external_gateway_info": {}}})["router"]["external_gateway_info"] is None
    info = {"network_id": world.ids["public_id"], "enable_snat": False}
    world.member.refused("PUT", path, {"router": {"external_gateway_info": info}}, 403)
    given = world.admin.put(path, {"router": {"external_gateway_info": info}})["router"]["external_gateway_info"]
    assert given["enable_snat"] is False
    info = {"network_id": world.ids["public_id"], "external_fixed_ips": [{"ip_address": "203.0.113.99"}]}
    assert world.member.refused("PUT", path, {"router": {"external_gateway_info": info}}, 400)[0] == "InvalidInput"
    chosen = world.admin.put(path, {"router": {"external_gateway_info": info}})["router"]["external_gateway_info"]
    assert chosen["external_fixed_ips"][0]["ip_address"] == "203.0.113.99"
    assert (
        world.member.put(path, {"router": {"external_gateway_info": None}})["router"]["external_gateway_info"] is None
    )


def test_an_address_of_the_gateway_is_of_the_subnet_that_is_named_with_it(world: Neutron) -> None:
    inside = {"ip_address": "203.0.113.99", "subnet_id": world.ids["subnet_id"]}
    info = {"network_id": world.ids["public_id"], "external_fixed_ips": [inside]}
    kind, message = world.admin.refused("POST", "routers", {"router": {"external_gateway_info": info}}, 400)
    assert kind == "InvalidInput" and "external_fixed_ips" in message
    assert Router.objects.count() == 1


def test_routes_come_and_go_one_by_one(world: Neutron) -> None:
    path = f"routers/{world.ids['router_id']}"
    first, second = ({"destination": f"10.{number}.0.0/16", "nexthop": "10.1.0.9"} for number in (98, 99))

    def changed(way: str, *routes: dict[str, str]) -> object:
        return world.member.put(f"{path}/{way}_extraroutes", {"router": {"routes": routes}})["router"]["routes"]

    assert changed("add", first) == [first]
    assert changed("add", first, second) == [first, second]
    assert changed("remove", first) == changed("remove", first) == [second]
    far = {"router": {"routes": [{"destination": "10.97.0.0/16", "nexthop": "192.0.2.1"}]}}
    assert world.member.refused("PUT", f"{path}/add_extraroutes", far, 400)[0] == "InvalidRoutes"
    wrong = {"router": {"routes": [{"destination": "somewhere", "nexthop": "10.1.0.9"}]}}
    world.member.refused("PUT", f"{path}/add_extraroutes", wrong, 400)
    assert world.member.get(path)["router"]["routes"] == [second]


def test_routes_and_names_change(world: Neutron) -> None:
    path = f"routers/{world.ids['router_id']}"
    routes = [{"destination": "10.99.0.0/16", "nexthop": "10.1.0.9"}]
    changed = world.member.put(path, {"router": {"name": "r", "admin_state_up": False, "routes": routes}})["router"]
    assert (changed["name"], changed["admin_state_up"], changed["routes"]) == ("r", False, routes)
    wrong = [{"destination": "10.99.0.0/16", "nexthop": "192.0.2.1"}]
    assert world.member.refused("PUT", path, {"router": {"routes": wrong}}, 400)[0] == "InvalidRoutes"
    assert world.member.put(path, {"router": {"routes": None}})["router"]["routes"] == []


def test_interfaces_come_and_go_by_subnet_and_by_port(world: Neutron) -> None:
    router = world.ids["router_id"]
    network = world.member.post("networks", {"network": {"name": "two"}})["network"]["id"]
    subnet = {"network_id": network, "cidr": "10.2.0.0/24"}
    subnet_id = world.member.post("subnets", {"subnet": subnet})["subnet"]["id"]
    joined = world.member.put(f"routers/{router}/add_router_interface", {"subnet_id": subnet_id})
    assert (joined["id"], joined["subnet_id"], joined["subnet_ids"]) == (router, subnet_id, [subnet_id])
    assert (joined["network_id"], joined["tenant_id"]) == (network, world.ids["project_id"])
    assert Port.objects.get(pk=joined["port_id"]).addresses == ["10.2.0.1"]
    left = world.member.put(f"routers/{router}/remove_router_interface", {"subnet_id": subnet_id})
    assert left == joined
    assert not Port.objects.filter(pk=joined["port_id"]).exists()
    port = world.member.post("ports", {"port": {"network_id": network}})["port"]["id"]
    assert world.member.put(f"routers/{router}/add_router_interface", {"port_id": port})["port_id"] == port
    assert world.member.put(f"routers/{router}/remove_router_interface", {"port_id": port})["port_id"] == port


@pytest.mark.parametrize(
    ("verb", "body", "status", "kind"),
    [
        ("add_router_interface", {}, 400, "InvalidInput"),
        ("add_router_interface", {"subnet_id": "x"}, 400, "HTTPBadRequest"),
        ("add_router_interface", {"subnet_id": "0" * 32}, 404, "SubnetNotFound"),
        ("remove_router_interface", {}, 400, "InvalidInput"),
        ("remove_router_interface", {"subnet_id": "0" * 32}, 404, "RouterInterfaceNotFound"),
    ],
)
def test_interfaces_that_are_none(world: Neutron, verb: str, body: dict[str, str], status: int, kind: str) -> None:
    assert world.member.refused("PUT", f"routers/{world.ids['router_id']}/{verb}", body, status)[0] == kind


def test_a_router_with_legs_stays_and_goes_without(world: Neutron) -> None:
    path, subnet = f"routers/{world.ids['router_id']}", {"subnet_id": world.ids["subnet_id"]}
    assert world.member.refused("DELETE", path, None, 409)[0] == "RouterInUse"
    hop = world.member.get(f"ports/{world.ids['port_id']}")["port"]["fixed_ips"][0]["ip_address"]
    world.member.put(path, {"router": {"routes": [{"destination": "10.99.0.0/24", "nexthop": hop}]}})
    refused = world.member.refused("PUT", f"{path}/remove_router_interface", subnet, 409)
    assert refused[0] == "RouterInterfaceInUseByRoute"
    world.member.put(path, {"router": {"routes": []}})
    world.member.put(f"{path}/remove_router_interface", subnet)
    world.member.delete(path)
    assert world.member.refused("GET", path, None, 404)[0] == "RouterNotFound"


def test_floating_address_is_put_before_a_port_and_freed(world: Neutron) -> None:
    path, port = f"floatingips/{world.ids['floating_ip_id']}", world.ids["port_id"]
    free = world.member.get(path)["floatingip"]
    assert (free["status"], free["port_id"], free["port_details"], free["router_id"]) == ("DOWN", None, None, None)
    put = world.member.put(path, {"floatingip": {"port_id": port}})["floatingip"]
    fixed = world.member.get(f"ports/{port}")["port"]["fixed_ips"][0]["ip_address"]
    assert (put["fixed_ip_address"], put["router_id"]) == (fixed, world.ids["router_id"])
    # Its router is yet to have it.
    assert (put["status"], FloatingIP.objects.get(pk=put["id"]).status) == ("DOWN", "BUILD")
    assert put["port_details"]["name"] == "web"
    assert len(world.member.get("floatingips?status=DOWN")["floatingips"]) == 1
    described = world.member.put(path, {"floatingip": {"description": "d", "fixed_ip_address": fixed}})["floatingip"]
    assert (described["description"], described["port_id"]) == ("d", port)
    leg = f"routers/{world.ids['router_id']}/remove_router_interface"
    refused = world.member.refused("PUT", leg, {"subnet_id": world.ids["subnet_id"]}, 409)
    assert refused[0] == "RouterInterfaceInUseByFloatingIP"
    gateway = {"router": {"external_gateway_info": None}}
    refused = world.member.refused("PUT", f"routers/{world.ids['router_id']}", gateway, 409)
    assert refused[0] == "RouterExternalGatewayInUseByFloatingIp"
    assert world.member.put(path, {"floatingip": {"port_id": None}})["floatingip"]["fixed_ip_address"] is None
    world.member.delete(path)
    assert world.member.refused("DELETE", path, None, 404)[0] == "FloatingIPNotFound"


def test_floating_addresses_that_cannot_be(world: Neutron) -> None:
    public, inside = world.ids["public_id"], world.ids["network_id"]
    for network, status, fault in ((inside, 400, "InvalidInput"), ("0" * 32, 404, "ExternalNetworkNotFound")):
        asked = {"floatingip": {"floating_network_id": network}}
        assert world.member.refused("POST", "floatingips", asked, status)[0] == fault
    chosen = {"floatingip": {"floating_network_id": public, "floating_ip_address": "203.0.113.77"}}
    kind, message = world.member.refused("POST", "floatingips", chosen, 400)
    assert kind == "InvalidInput" and "administrators" in message
    made = world.admin.post("floatingips", chosen)["floatingip"]
    assert made["floating_ip_address"] == "203.0.113.77"
    assert world.admin.refused("POST", "floatingips", chosen, 409)[0] == "IpAddressInUse"
    alone = {"floatingip": {"floating_network_id": public, "fixed_ip_address": "10.1.0.9"}}
    assert world.member.refused("POST", "floatingips", alone, 400)[0] == "InvalidInput"
    lonely = world.member.post("networks", {"network": {"name": "l"}})["network"]["id"]
    world.member.post("subnets", {"subnet": {"network_id": lonely, "cidr": "10.3.0.0/24"}})
    port = world.member.post("ports", {"port": {"network_id": lonely}})["port"]["id"]
    without = {"floatingip": {"floating_network_id": public, "port_id": port}}
    refused = world.member.refused("POST", "floatingips", without, 404)
    assert refused[0] == "ExternalGatewayForFloatingIPNotFound"
    assert FloatingIP.objects.count() == 2
