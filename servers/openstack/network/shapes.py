"""What answers of the Network API hold. Of what is shown, `fields` in a query string leaves some."""

from typing import NotRequired, TypedDict

from controlplane.openstack.answers import Chosen, JsonText
from controlplane.openstack.shapes import LinkJson


class OwnerJson(TypedDict):
    """Whose it is; empty for the installation's."""

    project_id: str
    tenant_id: str


class TimesJson(TypedDict):
    created_at: str
    updated_at: str


class TaggedJson(OwnerJson, TimesJson):
    """What most things have."""

    id: str
    description: str
    tags: list[str]


# Some names have a colon.
_NetworkFlags = TypedDict("_NetworkFlags", {"router:external": bool})
ProviderFields = TypedDict(
    "ProviderFields",
    {
        "provider:network_type": NotRequired[str],
        "provider:physical_network": NotRequired[str | None],
        "provider:segmentation_id": NotRequired[int | None],
    },
)


class NetworkJson(TaggedJson, _NetworkFlags, ProviderFields):
    """A network with the ids of its subnets. What it is below, administrators see."""

    name: str
    status: str
    admin_state_up: bool
    shared: bool
    mtu: int
    port_security_enabled: bool
    subnets: list[str]


class NetworkShown(TypedDict):
    network: Chosen[NetworkJson]


class NetworksShown(TypedDict):
    networks: list[Chosen[NetworkJson]]
    networks_links: NotRequired[list[LinkJson]]


class NewNetworkShown(TypedDict):
    network: NetworkJson


class NewNetworksShown(TypedDict):
    networks: list[NetworkJson]


class PoolJson(TypedDict):
    start: str
    end: str


class RouteJson(TypedDict):
    destination: str
    nexthop: str


class SubnetJson(TaggedJson):
    """A subnet."""

    name: str
    network_id: str
    ip_version: int
    cidr: str
    gateway_ip: str | None
    enable_dhcp: bool
    allocation_pools: list[PoolJson]
    dns_nameservers: list[str]
    host_routes: list[RouteJson]
    ipv6_ra_mode: str | None
    ipv6_address_mode: str | None
    subnetpool_id: None


class SubnetShown(TypedDict):
    subnet: Chosen[SubnetJson]


class SubnetsShown(TypedDict):
    subnets: list[Chosen[SubnetJson]]
    subnets_links: NotRequired[list[LinkJson]]


class NewSubnetShown(TypedDict):
    subnet: SubnetJson


class NewSubnetsShown(TypedDict):
    subnets: list[SubnetJson]


class FixedIpJson(TypedDict):
    subnet_id: str
    ip_address: str


class AddressPairJson(TypedDict):
    ip_address: str
    mac_address: str


_CardFields = TypedDict("_CardFields", {"binding:vnic_type": str})
BindingFields = TypedDict(
    "BindingFields",
    {
        "binding:host_id": NotRequired[str],
        "binding:vif_type": NotRequired[str],
    },
)


class ResourceGroupJson(TypedDict):
    id: str
    required: list[str]
    resources: dict[str, int]


class ResourceRequestJson(TypedDict):
    request_groups: list[ResourceGroupJson]
    same_subtree: list[str]


class ResourceFields(TypedDict):
    resource_request: NotRequired[ResourceRequestJson | None]


class PortJson(TaggedJson, _CardFields, BindingFields, ResourceFields):
    """A port. Where it is, and what Placement is asked for it, administrators see."""

    name: str
    network_id: str
    mac_address: str
    fixed_ips: list[FixedIpJson]
    security_groups: list[str]
    allowed_address_pairs: list[AddressPairJson]
    port_security_enabled: bool
    admin_state_up: bool
    status: str
    device_id: str
    device_owner: str


class PortShown(TypedDict):
    port: Chosen[PortJson]


class PortsShown(TypedDict):
    ports: list[Chosen[PortJson]]
    ports_links: NotRequired[list[LinkJson]]


class NewPortShown(TypedDict):
    port: PortJson


class NewPortsShown(TypedDict):
    ports: list[PortJson]


class AgentFacts(TypedDict):
    routers: int


class AgentJson(TypedDict):
    """A host that carries networks."""

    id: str
    agent_type: str
    binary: str
    host: str
    availability_zone: str
    alive: bool
    admin_state_up: bool
    configurations: AgentFacts


class AgentShown(TypedDict):
    agent: Chosen[AgentJson]


class AgentsShown(TypedDict):
    agents: list[Chosen[AgentJson]]


class SubnetUseJson(TypedDict):
    subnet_id: str
    subnet_name: str
    cidr: str
    ip_version: int
    total_ips: JsonText[int]
    used_ips: int


class NetworkUseJson(OwnerJson):
    """How many addresses a network has, and how many are in use."""

    network_id: str
    network_name: str
    total_ips: JsonText[int]
    used_ips: int
    subnet_ip_availability: list[SubnetUseJson]


class NetworkUseShown(TypedDict):
    network_ip_availability: Chosen[NetworkUseJson]


class NetworkUsesShown(TypedDict):
    network_ip_availabilities: list[Chosen[NetworkUseJson]]
    network_ip_availabilities_links: NotRequired[list[LinkJson]]


class ZoneJson(TypedDict):
    name: str
    resource: str
    state: str


class ZonesShown(TypedDict):
    availability_zones: list[ZoneJson]


class QuotaJson(TypedDict):
    """The limits of a project; -1 is none."""

    floatingip: int
    network: int
    port: int
    router: int
    security_group: int
    security_group_rule: int
    subnet: int


class QuotaOfProject(OwnerJson, QuotaJson):
    """The same with the project."""


class QuotaShown(TypedDict):
    quota: Chosen[QuotaJson]


class QuotasShown(TypedDict):
    quotas: list[Chosen[QuotaOfProject]]


class QuotaUse(TypedDict):
    limit: int
    used: int
    reserved: int


class QuotaDetails(TypedDict):
    """Each limit with what is in use."""

    floatingip: QuotaUse
    network: QuotaUse
    port: QuotaUse
    router: QuotaUse
    security_group: QuotaUse
    security_group_rule: QuotaUse
    subnet: QuotaUse


class QuotaDetailsShown(TypedDict):
    quota: Chosen[QuotaDetails]


class TagsShown(TypedDict):
    tags: list[str]


class NetworkVersionJson(TypedDict):
    id: str
    status: str
    links: list[LinkJson]


class NetworkVersionsShown(TypedDict):
    versions: list[NetworkVersionJson]


class CollectionJson(TypedDict):
    name: str
    collection: str
    links: list[LinkJson]


class CollectionsShown(TypedDict):
    resources: list[CollectionJson]


class ExtensionJson(TypedDict):
    alias: str
    name: str
    description: str
    updated: str
    links: list[LinkJson]


class ExtensionShown(TypedDict):
    extension: Chosen[ExtensionJson]


class ExtensionsShown(TypedDict):
    extensions: list[Chosen[ExtensionJson]]
