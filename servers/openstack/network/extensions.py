"""What the Network API can beyond Neutron's core, by the aliases that clients look for. What is not here, it cannot."""

from dataclasses import dataclass

from servers.openstack.network.shapes import ExtensionJson


@dataclass(frozen=True, slots=True)
class NetworkExtension:
    """One alias, as clients know it."""

    alias: str
    name: str
    description: str

    def document(self) -> ExtensionJson:
        """As the API shows it."""
        return {
            "alias": self.alias,
            "name": self.name,
            "description": self.description,
            "updated": "2026-01-01T00:00:00-00:00",
            "links": [],
        }


EXTENSIONS = (
    NetworkExtension("agent", "agent", "Hosts that carry networks, for administrators to see."),
    NetworkExtension("allowed-address-pairs", "Allowed Address Pairs", "More addresses that a port may send from."),
    NetworkExtension("availability_zone", "Availability Zone", "Zones of the hosts that carry networks."),
    NetworkExtension("binding", "Port Binding", "Where a port is, for administrators to see, and its kind of card."),
    NetworkExtension("ext-gw-mode", "Neutron L3 Configurable external gateway mode", "Gateways with SNAT or without."),
    NetworkExtension("external-net", "Neutron external network", "Networks of gateways and floating addresses."),
    NetworkExtension("extraroute", "Neutron Extra Route", "Static routes of routers."),
    NetworkExtension("extraroute-atomic", "Atomically add/remove extra routes", "Static routes one by one."),
    NetworkExtension("filter-validation", "Filter parameters validation", "Unknown filters are refused."),
    NetworkExtension("fip-port-details", "Floating IP Port Details Extension", "Floating addresses show their port."),
    NetworkExtension("ip-substring-filtering", "IP address substring filtering", "Ports by a part of an address."),
    NetworkExtension("net-mtu", "Network MTU", "Networks show their MTU."),
    NetworkExtension("net-mtu-writable", "Network MTU (writable)", "The MTU of a network can be chosen."),
    NetworkExtension("network-ip-availability", "Network IP Availability", "Addresses in use by network and subnet."),
    NetworkExtension("pagination", "Pagination support", "Lists in pages, by limit and marker."),
    NetworkExtension("port-resource-request", "Port Resource Request", "What Placement is asked for a port."),
    NetworkExtension("port-resource-request-groups", "Port Resource Request Groups", "The same in several groups."),
    NetworkExtension("port-security", "Port Security", "Ports whose addresses and rules are checked, or are not."),
    NetworkExtension("project-id", "project_id field enabled", "Things show project_id beside tenant_id."),
    NetworkExtension("provider", "Provider Network", "What a network is below, for administrators."),
    NetworkExtension("quota-check-limit", "Quota limit checks", "No limit below what is in use, where asked for."),
    NetworkExtension("quota_details", "Quota details management support", "Limits with what is in use."),
    NetworkExtension("quotas", "Quota management support", "Limits of projects."),
    NetworkExtension("router", "Neutron L3 Router", "Routers and floating addresses."),
    NetworkExtension("security-group", "security-group", "Security groups and their rules."),
    NetworkExtension("sorting", "Sorting support", "Lists in the order that is asked for."),
    NetworkExtension("standard-attr-description", "standard-attr-description", "Things have descriptions."),
    NetworkExtension("standard-attr-tag", "standard-attr-tag", "Words of its owner on a thing; lists by them."),
    NetworkExtension("standard-attr-timestamp", "Resource timestamps", "Things show when they were made and changed."),
)
