"""Lists of the Network API: filters, fields, order, pages both ways, and the number of queries."""

from urllib.parse import urlsplit

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.worlds.neutron import MOUNT, Neutron

LISTS = {
    "networks": "networks",
    "subnets": "subnets",
    "ports": "ports",
    "routers": "routers",
    "floatingips": "floatingips",
    "security-groups": "security_groups",
    "security-group-rules": "security_group_rules",
}


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("name=lan", {"lan"}),
        ("name=lan&name=public", {"lan", "public"}),
        ("name=nothing", set()),
        ("id=no-id", set()),
        ("router:external=True", {"public"}),
        ("router:external=false", {"lan"}),
        ("shared=true", set()),
        ("admin_state_up=1&name=lan", {"lan"}),
        ("status=ACTIVE", {"lan", "public"}),
        ("status=DOWN", set()),
        ("mtu=1450&name=lan", {"lan"}),
        ("project_id={project_id}", {"lan"}),
        ("tenant_id=" + "0" * 32, set()),
        ("subnets={subnet_id}", {"lan"}),
    ],
)
def test_networks_by_any_field(world: Neutron, query: str, names: set[str]) -> None:
    found = world.member.get(f"networks?{query.format(**world.ids)}")["networks"]
    assert {one["name"] for one in found} == names


@pytest.mark.parametrize(
    ("path", "query", "count"),
    [
        ("subnets", "cidr=10.1.0.0/24&ip_version=4&enable_dhcp=True&gateway_ip=10.1.0.1", 1),
        ("subnets", "gateway_ip=no-address", 0),
        ("ports", "fixed_ips=subnet_id={subnet_id}&fixed_ips=ip_address=10.1.0.1", 1),
        ("ports", "fixed_ips=ip_address_substr=10.1.0.", 2),
        ("ports", "network_id={network_id}&device_owner=", 1),
        ("ports", "device_id=", 1),
        ("ports", "mac_address=no-mac", 0),
        ("ports", "name=web&admin_state_up=true", 1),
        ("ports", "security_groups={group_id}", 0),
        ("routers", "name=edge&status=ACTIVE", 1),
        ("routers", "status=ERROR", 0),
        ("floatingips", "floating_network_id={public_id}&status=DOWN", 1),
        ("floatingips", "floating_ip_address=203.0.113.250", 0),
        ("floatingips", "router_id={router_id}", 0),
        ("security-groups", "name=web", 1),
        ("security-group-rules", "security_group_id={group_id}&direction=ingress&protocol=tcp&port_range_min=22", 1),
        ("security-group-rules", "security_group_id={group_id}&ethertype=IPv6", 1),
        ("security-group-rules", "remote_ip_prefix=10.0.0.0/8", 1),
    ],
)
def test_the_rest_by_any_field(world: Neutron, path: str, query: str, count: int) -> None:
    assert len(world.member.get(f"{path}?{query.format(**world.ids)}")[LISTS[path]]) == count


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("colour=red", "colour"),
        ("admin_state_up=perhaps", "admin_state_up"),
        ("mtu=many", "mtu"),
        ("mtu=99999999999999999999", "mtu"),
        ("limit=-1", "limit"),
        ("marker=00000000-0000-0000-0000-00000000000a", "marker"),
        ("marker=x", "marker"),
        ("page_reverse=x", "page_reverse"),
        ("sort_key=colour", "sort_key"),
        ("sort_key=name&sort_dir=up", "sort_dir"),
        ("sort_dir=asc", "sort_dir"),
        ("provider:network_type=vxlan", "provider:network_type"),
    ],
)
def test_what_is_no_query_is_refused_with_its_name(world: Neutron, query: str, word: str) -> None:
    kind, message = world.member.refused("GET", f"networks?{query}", None, 400)
    assert kind == "InvalidInput"
    assert word in message


def test_administrators_find_networks_by_what_is_below(world: Neutron) -> None:
    assert len(world.admin.get("networks?provider:network_type=vxlan")["networks"]) == 1
    assert (
        len(world.admin.get("networks?provider:physical_network=physnet1&provider:network_type=flat")["networks"]) == 1
    )
    assert world.admin.get("ports?binding:host_id=elsewhere")["ports"] == []


def test_fields_choose_what_is_shown(world: Neutron) -> None:
    (row,) = world.member.get("networks?fields=id&fields=name&fields=tags&name=lan")["networks"]
    assert row == {"id": world.ids["network_id"], "name": "lan", "tags": []}
    shown = world.member.get(f"ports/{world.ids['port_id']}?fields=name")
    assert shown == {"port": {"name": "web"}}


def test_pages_go_on_and_back_by_the_links_that_are_given(world: Neutron) -> None:
    for name in ("b", "d", "a", "c"):
        world.member.post("networks", {"network": {"name": name, "description": "page"}})

    def page(query: str) -> tuple[list[str], dict[str, str]]:
        content = world.member.get(f"networks?{query}")
        links = {link["rel"]: urlsplit(link["href"]) for link in content.get("networks_links", ())}
        assert all(link.path == f"{MOUNT}/v2.0/networks" for link in links.values())
        return [one["name"] for one in content["networks"]], {rel: link.query for rel, link in links.items()}

    first, links = page("description=page&sort_key=name&sort_dir=asc&limit=2")
    assert (first, set(links)) == (["a", "b"], {"next"})
    second, links = page(links["next"])
    assert (second, set(links)) == (["c", "d"], {"previous"})
    back, links = page(links["previous"])
    assert (back, set(links)) == (["a", "b"], {"next"})
    assert page("description=page&sort_key=name&sort_dir=desc")[0] == ["d", "c", "b", "a"]
    assert page("description=page&sort_key=name&sort_dir=desc&limit=3")[0] == ["d", "c", "b"]
    assert len(page("description=page&limit=1")[0]) == 1


@pytest.mark.parametrize("path", [*LISTS, "network-ip-availabilities"])
def test_a_longer_list_costs_no_more_queries(world: Neutron, path: str) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as found:
            world.admin.get(path)
        return len(found)

    world.admin.get(path)
    before = queries()
    ids = world.ids
    for number in range(3):
        network = world.member.post("networks", {"network": {"name": f"n{number}"}})["network"]["id"]
        world.member.post("subnets", {"subnet": {"network_id": network, "cidr": f"10.{20 + number}.0.0/24"}})
        world.member.post("ports", {"port": {"network_id": network}})
        router = {"name": f"r{number}", "external_gateway_info": {"network_id": ids["public_id"]}}
        world.member.post("routers", {"router": router})
        world.member.post("floatingips", {"floatingip": {"floating_network_id": ids["public_id"]}})
        world.member.post("security-groups", {"security_group": {"name": f"g{number}"}})
    assert queries() == before
    assert before < 12
