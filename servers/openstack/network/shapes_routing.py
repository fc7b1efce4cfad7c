"""What answers of the Network API hold of routers, floating addresses and security groups."""

from typing import NotRequired, TypedDict

from controlplane.openstack.answers import Chosen
from controlplane.openstack.shapes import LinkJson
from servers.openstack.network.shapes import FixedIpJson, OwnerJson, RouteJson, TaggedJson, TimesJson


class GatewayJson(TypedDict):
    network_id: str
    enable_snat: bool
    external_fixed_ips: list[FixedIpJson]


class RouterJson(TaggedJson):
    """A router with its gateway. Its interfaces are ports, which are listed by `device_id`."""

    name: str
    status: str
    admin_state_up: bool
    external_gateway_info: GatewayJson | None
    routes: list[RouteJson]


class RouterShown(TypedDict):
    router: Chosen[RouterJson]


class RoutersShown(TypedDict):
    routers: list[Chosen[RouterJson]]
    routers_links: NotRequired[list[LinkJson]]


class NewRouterShown(TypedDict):
    router: RouterJson


class NewRoutersShown(TypedDict):
    routers: list[RouterJson]


class InterfaceJson(OwnerJson):
    """What came to a router, or went from it."""

    id: str
    port_id: str
    network_id: str
    subnet_id: str
    subnet_ids: list[str]


class PortDetailsJson(TypedDict):
    name: str
    network_id: str
    mac_address: str
    admin_state_up: bool
    status: str
    device_id: str
    device_owner: str


class FloatingIpJson(TaggedJson):
    """A floating address with the port that it stands for."""

    floating_network_id: str
    floating_ip_address: str
    fixed_ip_address: str | None
    port_id: str | None
    router_id: str | None
    status: str
    port_details: PortDetailsJson | None


class FloatingIpShown(TypedDict):
    floatingip: Chosen[FloatingIpJson]


class FloatingIpsShown(TypedDict):
    floatingips: list[Chosen[FloatingIpJson]]
    floatingips_links: NotRequired[list[LinkJson]]


class NewFloatingIpShown(TypedDict):
    floatingip: FloatingIpJson


class NewFloatingIpsShown(TypedDict):
    floatingips: list[FloatingIpJson]


class RuleJson(OwnerJson, TimesJson):
    """A rule of a security group. What it does not say is null: it means any."""

    id: str
    description: str
    security_group_id: str
    direction: str
    ethertype: str
    protocol: str | None
    port_range_min: int | None
    port_range_max: int | None
    remote_ip_prefix: str | None
    remote_group_id: str | None


class RuleShown(TypedDict):
    security_group_rule: Chosen[RuleJson]


class RulesShown(TypedDict):
    security_group_rules: list[Chosen[RuleJson]]
    security_group_rules_links: NotRequired[list[LinkJson]]


class NewRuleShown(TypedDict):
    security_group_rule: RuleJson


class NewRulesShown(TypedDict):
    security_group_rules: list[RuleJson]


class SecurityGroupJson(TaggedJson):
    """A security group with its rules, the oldest first."""

    name: str
    security_group_rules: list[RuleJson]


class SecurityGroupShown(TypedDict):
    security_group: Chosen[SecurityGroupJson]


class SecurityGroupsShown(TypedDict):
    security_groups: list[Chosen[SecurityGroupJson]]
    security_groups_links: NotRequired[list[LinkJson]]


class NewSecurityGroupShown(TypedDict):
    security_group: SecurityGroupJson


class NewSecurityGroupsShown(TypedDict):
    security_groups: list[SecurityGroupJson]
