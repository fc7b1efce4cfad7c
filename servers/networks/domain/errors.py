"""Refusals of networks, subnets, ports and addresses, by the names that Neutron gives them."""

from controlplane.kernel.errors import Conflict, Invalid, NotFound, Unavailable


class IpAddressInUse(Conflict):
    """Another port of the network has the address that was asked for, or the network keeps it for itself."""

    code = "ip_address_in_use"
    retryable = False


class NoMoreAddresses(Conflict):
    """The pools of a subnet have too few free addresses; `extra` has wanted and free."""

    code = "no_more_addresses"


class InvalidIpForNetwork(Invalid):
    """The address is in none of the network's subnets."""

    code = "invalid_ip_for_network"


class InvalidIpForSubnet(Invalid):
    """No port may have the address in this subnet."""

    code = "invalid_ip_for_subnet"


class MacAddressInUse(Conflict):
    """Another port of the network has the MAC address that was asked for."""

    code = "mac_address_in_use"
    retryable = False


class MacAddressGenerationFailure(Unavailable):
    """No free MAC address was found in some tries: BASE_MAC leaves too few."""

    code = "mac_address_generation_failure"


class NetworkNotFound(NotFound):
    """No such network, or none that the caller may know of."""


class FixedAddressNotFound(Invalid):
    """No port of the instance has the address (Nova's 400)."""

    code = "fixed_address_not_found"


class SubnetNotFound(NotFound):
    """No such subnet in the network."""


class TagNotFound(NotFound):
    """It has no such tag."""


class PortNotFound(NotFound):
    """No such port, or none that the caller may know of."""


class SecurityGroupNotFound(NotFound):
    """The project of the port has no such group."""


class SecurityGroupRuleNotFound(NotFound):
    """No such rule, or none that the caller may know of."""


class OverlappingSubnets(Conflict):
    """The network has a subnet with some of these addresses; `extra` names them."""

    code = "overlapping_subnets"
    retryable = False


class GatewayIpInUse(Conflict):
    """A router has the gateway's address, so that it cannot change."""

    code = "gateway_ip_in_use"


class NoNetworkAvailable(Conflict):
    """All VXLAN ids of the setting are taken."""

    code = "no_network_available"


class TenantNetworksUnavailable(Conflict):
    """The installation makes no networks for projects: NETWORK_KIND is none."""

    code = "tenant_networks_unavailable"
    retryable = False


class NetworkKindUnavailable(Conflict):
    """Nothing in the installation carries networks of the kind that was asked for."""

    code = "network_kind_unavailable"
    retryable = False


class InvalidSharedSetting(Conflict):
    """Other projects have ports in the network, so that it stays shared."""

    code = "invalid_shared_setting"


class ExternalNetworkInUse(Conflict):
    """Routers have gateways in the network, or floating addresses are of it, so that it stays external."""

    code = "external_network_in_use"


class NetworkInUse(Conflict):
    """Ports, routers or floating addresses are in the network."""

    code = "network_in_use"


class SubnetInUse(Conflict):
    """Ports have addresses of the subnet, or of the part of it that is to go."""

    code = "subnet_in_use"


class PortInUse(Conflict):
    """An instance, a router or a floating address needs the port."""

    code = "port_in_use"


class SecurityGroupInUse(Conflict):
    """Ports are in the group; `extra` has their number."""

    code = "security_group_in_use"


class SecurityGroupRuleExists(Conflict):
    """The group has a rule that says the same."""

    code = "security_group_rule_exists"
    retryable = False


class DefaultGroup(Conflict):
    """The default group of a project keeps its name, and stays."""

    code = "security_group_cannot_change_default"
    retryable = False


class SecurityGroupCannotBeApplied(Invalid):
    """The instance has no port that rules are kept for."""

    code = "security_group_cannot_be_applied"
