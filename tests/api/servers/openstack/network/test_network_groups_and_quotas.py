"""Security groups, quotas, discovery and what is in use, in Neutron's words."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoAssertNumQueries

from controlplane.identity.models import Project
from servers.models import SecurityGroup
from servers.openstack.network.extensions import EXTENSIONS
from servers.openstack.network.views import security_groups
from tests.worlds.neutron import MOUNT, Neutron, NeutronClient


def test_group_is_made_with_what_lets_all_out(world: Neutron) -> None:
    made = world.member.post("security-groups", {"security_group": {"name": "g", "stateful": True}})["security_group"]
    rules = [(rule["direction"], rule["ethertype"], rule["protocol"]) for rule in made["security_group_rules"]]
    assert sorted(rules) == [("egress", "IPv4", None), ("egress", "IPv6", None)]
    changed = world.member.put(f"security-groups/{made['id']}", {"security_group": {"description": "d"}})
    assert changed["security_group"]["description"] == "d"
    assert len(changed["security_group"]["security_group_rules"]) == 2
    world.member.delete(f"security-groups/{made['id']}")
    assert world.member.refused("GET", f"security-groups/{made['id']}", None, 404)[0] == "SecurityGroupNotFound"
    assert world.member.refused("GET", "security-groups/g", None, 404)[0] == "SecurityGroupNotFound"


def test_rules_are_shown_canonical_and_none_is_there_twice(world: Neutron) -> None:
    group = world.ids["group_id"]
    shown = world.member.get(f"security-group-rules/{world.ids['rule_id']}")["security_group_rule"]
    assert (shown["protocol"], shown["port_range_min"], shown["remote_ip_prefix"]) == ("tcp", 22, "10.0.0.0/8")
    assert shown["project_id"] == world.ids["project_id"]
    same = {"security_group_id": group, "direction": "ingress", "protocol": 6, "remote_ip_prefix": "10.1.2.3/8"}
    same |= {"port_range_min": "22", "port_range_max": "22", "ethertype": "IPv4"}
    body = {"security_group_rule": same}
    assert world.member.refused("POST", "security-group-rules", body, 409)[0] == "SecurityGroupRuleExists"
    two = [
        {"security_group_id": group, "direction": "ingress", "protocol": "icmp", "ethertype": "IPv6"},
        {"security_group_id": group, "direction": "ingress", "remote_group_id": group},
    ]
    made = world.member.post("security-group-rules", {"security_group_rules": two})["security_group_rules"]
    assert [(one["protocol"], one["remote_group_id"]) for one in made] == [("ipv6-icmp", None), (None, group)]
    again = [{"security_group_id": group, "direction": "ingress", "protocol": "udp"}, two[0]]
    world.member.refused("POST", "security-group-rules", {"security_group_rules": again}, 409)
    assert world.member.get("security-group-rules?protocol=udp")["security_group_rules"] == []
    world.member.delete(f"security-group-rules/{made[0]['id']}")
    path = f"security-group-rules/{made[0]['id']}"
    assert world.member.refused("DELETE", path, None, 404)[0] == "SecurityGroupRuleNotFound"


def test_a_rule_from_anywhere_is_shown_as_it_was_written(world: Neutron) -> None:
    """Clients compare what they ask for with what is there."""
    rules = {"tcp": "0.0.0.0/0", "udp": None, "icmp": "0.0.0.0/0"}
    for protocol, prefix in rules.items():
        asked = {"direction": "ingress", "protocol": protocol, "security_group_id": world.ids["group_id"]}
        body = {"security_group_rule": {**asked, "remote_ip_prefix": prefix}}
        assert world.member.post("security-group-rules", body)["security_group_rule"]["remote_ip_prefix"] == prefix
        other = {"security_group_rule": {**asked, "remote_ip_prefix": None if prefix else "0.0.0.0/0"}}
        assert world.member.refused("POST", "security-group-rules", other, 409)[0] == "SecurityGroupRuleExists"
    found = world.member.get("security-group-rules?remote_ip_prefix=0.0.0.0/0")["security_group_rules"]
    assert {each["protocol"] for each in found} == {"tcp", "icmp"}
    assert world.member.get("security-group-rules?remote_ip_prefix=::/0")["security_group_rules"] == []


@pytest.mark.parametrize(
    ("rule", "word"),
    [
        ({"direction": "ingress", "protocol": "nonsense"}, "protocol"),
        ({"direction": "ingress", "protocol": "tcp", "port_range_min": 9, "port_range_max": 8}, "port_range_min"),
        ({"direction": "sideways"}, "direction"),
        ({"direction": "ingress", "remote_address_group_id": "x"}, "remote_address_group_id"),
        ({"direction": "ingress", "remote_ip_prefix": "x"}, "remote_ip_prefix"),
    ],
)
def test_rules_that_cannot_be(world: Neutron, rule: dict[str, Any], word: str) -> None:
    body = {"security_group_rule": {"security_group_id": world.ids["group_id"], **rule}}
    assert word in world.member.refused("POST", "security-group-rules", body, 400)[1]


def test_rule_may_not_name_a_group_that_is_not_there(world: Neutron) -> None:
    rule = {"security_group_id": world.ids["group_id"], "direction": "ingress"}
    for nowhere in ("0" * 32, "no-id"):
        body = {"security_group_rule": {**rule, "remote_group_id": nowhere}}
        assert world.member.refused("POST", "security-group-rules", body, 404)[0] == "SecurityGroupNotFound"


def test_the_default_group_keeps_its_name_and_a_used_one_stays(world: Neutron) -> None:
    (default,) = world.member.get("security-groups?name=default")["security_groups"]
    path = f"security-groups/{default['id']}"
    refused = world.member.refused("PUT", path, {"security_group": {"name": "x"}}, 409)
    assert refused[0] == "SecurityGroupCannotUpdateDefault"
    change = {"port": {"security_groups": [world.ids["group_id"]]}}
    world.member.put(f"ports/{world.ids['port_id']}", change)
    used = f"security-groups/{world.ids['group_id']}"
    assert world.member.refused("DELETE", used, None, 409)[0] == "SecurityGroupInUse"


def test_a_project_has_its_default_group_from_the_first_look(world: Neutron) -> None:
    groups = SecurityGroup.objects.filter(project_id=world.people.stranger.project_id)
    assert not groups.exists()
    looks = ("security-groups", "security-groups?name=default&fields=id&fields=name", "security-group-rules")
    for look in looks:
        found = next(iter(world.stranger.get(look).values()))
        assert len(found) == (4 if "rules" in look else 1), look
        assert "rules" in look or found[0]["name"] == "default"
        groups.all().delete()
    of_project = f"security-groups?project_id={world.people.stranger.project_id}"
    assert world.member.get(of_project)["security_groups"] == []
    assert not groups.exists(), "nobody else makes it but administrators"
    for unlike in ("name=web", f"id={world.ids['group_id']}", "tags=a", "description="):
        assert world.stranger.get(f"security-groups?{unlike}")["security_groups"] == []
    assert not groups.exists(), "it is not what was asked for"
    assert [one["name"] for one in world.admin.get(of_project)["security_groups"]] == ["default"]
    nobody = f"security-groups?project_id={world.ids['network_id']}"
    assert world.admin.get(nobody)["security_groups"] == []


def test_looking_for_the_default_group_costs_nothing_where_it_is(
    world: Neutron, django_assert_num_queries: DjangoAssertNumQueries, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.member.get("security-groups")
    with CaptureQueriesContext(connection) as with_it:
        world.member.get("security-groups")
    monkeypatch.setattr(security_groups, "default_group_make", lambda **_: False)
    with django_assert_num_queries(len(with_it)):
        world.member.get("security-groups")


def test_quotas_are_read_by_the_project_and_set_by_administrators(world: Neutron) -> None:
    path = f"quotas/{world.ids['project_id']}"
    shown = world.reader.get(path)["quota"]
    assert set(shown) == {
        *("network", "subnet", "port", "router", "floatingip", "security_group", "security_group_rule"),
    }
    assert shown == world.reader.get(f"{path}/default")["quota"]
    assert (shown["network"], shown["security_group_rule"]) == (100, 100)
    changed = world.admin.put(path, {"quota": {"network": 7, "port": -1}})["quota"]
    assert (changed["network"], changed["port"], changed["subnet"]) == (7, -1, 100)
    details = world.member.get(f"{path}/details")["quota"]
    assert details["network"] == {"limit": 7, "used": 1, "reserved": 0}
    assert details["router"]["used"] == 1
    assert world.member.get(f"{path}/details.json")["quota"] == details
    assert world.member.get(f"{path}/default")["quota"]["network"] == 100
    world.admin.delete(path)
    assert world.admin.get(path)["quota"]["network"] == 100


def test_a_limit_below_what_is_in_use_is_refused_where_that_is_asked_for(world: Neutron) -> None:
    path = f"quotas/{world.ids['project_id']}"
    kind, message = world.admin.refused("PUT", path, {"quota": {"port": 1, "check_limit": True}}, 400)
    assert kind == "InvalidInput" and "Invalid input for port. Is 1" in message
    assert Project.objects.get(name="demo").quota_ports is None
    body = {"quota": {"port": 1, "check_limit": True, "force": True}}
    assert world.admin.put(path, body)["quota"]["port"] == 1
    assert world.admin.put(path, {"quota": {"port": 0}})["quota"]["port"] == 0


@pytest.mark.parametrize("quota", [{"network": -2}, {"network": "x"}, {"network": 2**40}, {"subnetpool": 1}])
def test_limits_that_are_none(world: Neutron, quota: dict[str, Any]) -> None:
    kind, message = world.admin.refused("PUT", f"quotas/{world.ids['project_id']}", {"quota": quota}, 400)
    assert kind == "HTTPBadRequest"
    assert next(iter(quota)) in message


def test_quotas_of_no_project(world: Neutron) -> None:
    assert world.admin.call("GET", f"/v2.0/quotas/{'0' * 32}").status_code == 404
    assert world.admin.call("GET", "/v2.0/quotas/demo").status_code == 404


def test_discovery_links_to_where_it_was_asked(world: Neutron) -> None:
    answer = NeutronClient().client.get(MOUNT, headers={"Host": "cloud.example.org"})
    (version,) = answer.json()["versions"]
    assert (version["id"], version["status"]) == ("v2.0", "CURRENT")
    assert version["links"][0]["href"] == "http://cloud.example.org/network/v2.0/"
    for path in ("/v2.0", "/v2.0/"):
        resources = world.member.call("GET", path, status=200)["resources"]
        assert "networks" in {one["collection"] for one in resources}


def test_extensions_are_listed_and_found_by_alias(world: Neutron) -> None:
    listed = world.reader.get("extensions")["extensions"]
    assert [one["alias"] for one in listed] == sorted(each.alias for each in EXTENSIONS)
    assert world.reader.get("extensions/router")["extension"]["alias"] == "router"
    assert world.reader.refused("GET", "extensions/Availability%20Zone", None, 404)[0] == "ExtensionNotFound"
    assert world.reader.refused("GET", "extensions/dvr", None, 404)[0] == "ExtensionNotFound"


def test_addresses_in_use_are_counted(world: Neutron) -> None:
    six = {"network_id": world.ids["network_id"], "cidr": "fd00::/48"}
    world.member.post("subnets", {"subnet": six})
    (row,) = world.member.get("network-ip-availabilities?ip_version=4&network_name=lan")["network_ip_availabilities"]
    # The gateway is in no pool; it and the port's address are in use.
    assert (row["total_ips"], row["used_ips"]) == (253, 2)
    path = f"network-ip-availabilities/{world.ids['network_id']}"
    whole = world.member.get(path)["network_ip_availability"]
    assert [one["ip_version"] for one in whole["subnet_ip_availability"]] == [4, 6]
    assert whole["total_ips"] > 2**79


def test_zones_and_agents(world: Neutron) -> None:
    zones = world.reader.get("availability_zones")["availability_zones"]
    assert {"name": "nova", "resource": "network", "state": "available"} in zones
    (agent,) = world.admin.get("agents?alive=true&host=hv1")["agents"]
    assert (agent["agent_type"], agent["admin_state_up"]) == ("Linux bridge agent", True)
    assert agent["configurations"] == {"routers": 1}
    assert world.admin.get(f"agents/{agent['id']}")["agent"] == agent
    assert world.admin.get("agents?host=hv2")["agents"] == []
    assert world.admin.refused("GET", "agents/none", None, 404)[0] == "AgentNotFound"
    assert world.admin.refused("GET", "agents?colour=red", None, 400)[0] == "InvalidInput"
