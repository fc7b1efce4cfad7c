"""A network for a project that has none and asks for one: `auto` in a request, Neutron's auto-allocated topology.

What is made: a network, a subnet of AUTO_NETWORK_CIDR, and a router from it to the default external network.
"""

import uuid

from controlplane.identity.domain import Caller
from controlplane.infra.db import in_transaction
from controlplane.kernel.errors import KilonovaError
from controlplane.kernel.texts import phrase as _
from servers.catalog.services.quota import quota_lock
from servers.conf import server_options
from servers.models import Network, Port, Router, Subnet
from servers.networks.domain.names import PortOwner
from servers.networks.domain.networks import NetworkRequest
from servers.networks.domain.routing_errors import UnableToAutoAllocateNetwork
from servers.networks.domain.subnets import SubnetRequest
from servers.networks.services.networks import network_create
from servers.networks.services.router_legs import router_interface_add
from servers.networks.services.routers import router_create
from servers.networks.services.subnets import subnet_create

AUTO_NAME = "auto_allocated_network"
"""What Neutron calls it. The name is how it is found again: a project that renames it gets another one."""
AUTO_ROUTER = "auto_allocated_router"


def topology_ensure(*, caller: Caller) -> Network:
    """The network of the caller's project that `auto` means: the one that was made so before, with what it lost since,
    or a new one.

    One transaction, under the project's quota lock: two that ask at once get the same network, and cut off anywhere
    nothing is left. Raises UnableToAutoAllocateNetwork with the reason: there is no external network, or there are
    several and none is the default; the network or its router is disabled; the project is over its quota; this
    installation makes no networks for projects.
    """
    try:
        return in_transaction(lambda: _ensured(caller))
    except UnableToAutoAllocateNetwork:
        raise
    except KilonovaError as error:
        raise UnableToAutoAllocateNetwork(
            _("No network can be made for the project: {message}", message=error.message)
        ) from error


def _ensured(caller: Caller) -> Network:
    quota_lock(caller.project_id)
    named = Network.objects.filter(project_id=caller.project_id, name=AUTO_NAME, is_external=False)
    network = named.order_by("-is_enabled", "created_at", "pk").first()
    if network is not None:
        _must_be_enabled(network)
    else:
        # Where there is no way out, the reason is this and no other.
        default_external_network()
        request = NetworkRequest(project_id=caller.project_id, name=AUTO_NAME)
        network = network_create(caller=caller, request=request)
    subnet = Subnet.objects.filter(network=network).order_by("ip_version", "created_at", "pk").first()
    if subnet is None:
        wanted = SubnetRequest(network_id=network.pk, cidr=server_options().auto_network_cidr, name=AUTO_NAME)
        subnet = subnet_create(caller=caller, request=wanted)
    # A subnet without a gateway is one that its owner wanted to lead nowhere.
    if subnet.gateway and not Port.objects.filter(network=network, owner=PortOwner.ROUTER_INTERFACE).exists():
        router_interface_add(caller=caller, router_id=_router(caller).pk, subnet_id=subnet.pk)
    return network


def _router(caller: Caller) -> Router:
    """The router that was made so before, or a new one. One that its owner took the gateway from stays without."""
    named = Router.objects.filter(project_id=caller.project_id, name=AUTO_ROUTER)
    router = named.order_by("-is_enabled", "created_at", "pk").first()
    if router is None:
        return router_create(caller=caller, name=AUTO_ROUTER, external_network=default_external_network())
    _must_be_enabled(router)
    return router


def _must_be_enabled(thing: Network | Router) -> None:
    """Nobody's switch is turned behind the owner's back. Raises UnableToAutoAllocateNetwork."""
    if not thing.is_enabled:
        raise UnableToAutoAllocateNetwork(
            _("{thing}, which the project has for this, is disabled: enable it, or name a network.", thing=thing)
        )


def default_external_network() -> uuid.UUID:
    """The external network that is the default, or the only one. Raises UnableToAutoAllocateNetwork."""
    rows = Network.objects.filter(is_external=True, is_enabled=True).order_by("-is_default", "created_at", "pk")
    found = list(rows.values_list("pk", "is_default")[:2])
    if not found:
        raise UnableToAutoAllocateNetwork(_("No network can be made for the project: there is no external network."))
    if len(found) > 1 and not found[0][1]:
        raise UnableToAutoAllocateNetwork(
            _("No network can be made for the project: there are several external networks, and none is the default.")
        )
    return found[0][0]
