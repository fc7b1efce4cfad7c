"""Refusals of routers and floating addresses, by the names that Neutron gives them."""

from controlplane.kernel.errors import Conflict, Invalid, NotFound


class RouterNotFound(NotFound):
    """No such router, or none that the caller may know of."""


class RouterInUse(Conflict):
    """The router has legs still; `extra` has their number."""

    code = "router_in_use"


class RouterInterfaceNotFound(NotFound):
    """The router has no such leg."""


class RouterInterfaceInUse(Conflict):
    """Floating addresses need the leg."""

    code = "router_interface_in_use"


class RouterInterfaceInUseByRoute(RouterInterfaceInUse):
    """Static routes need the leg."""


class RouterGatewayInUse(Conflict):
    """Floating addresses need the gateway."""

    code = "router_external_gateway_in_use_by_floating_ip"


class SubnetsOverlap(Conflict):
    """A router cannot tell two networks apart that have the same addresses."""

    code = "subnets_overlap"
    retryable = False


class InvalidRoute(Invalid):
    """A static route that the router could not follow."""

    code = "invalid_routes"


class FloatingIPNotFound(NotFound):
    """No such floating address, or none that the caller may know of."""


class FloatingIPInUse(Conflict):
    """The address of the port has another floating address already."""

    code = "floating_ip_port_already_associated"
    retryable = False


class ExternalNetworkNotFound(NotFound):
    """No such external network."""


class ExternalGatewayForFloatingIPNotFound(NotFound):
    """No router connects the port's subnet with the external network."""

    code = "external_gateway_for_floating_ip_not_found"


class UnableToAutoAllocateNetwork(Conflict):
    """A network cannot be made for a project by itself; the message says what is missing."""

    code = "unable_to_auto_allocate_network"
