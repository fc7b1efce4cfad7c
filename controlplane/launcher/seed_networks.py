"""The networks that an installation on one machine starts with: an outside one, and one inside that is the default.

They are made together or not at all, when there is none of their kind.
"""

import ipaddress
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from computeagent.networks.places.names import PUBLIC, gateway_of
from computeagent.protocol.networks import NetworkBackendKind
from controlplane.identity.selectors import project_list
from controlplane.infra.db import in_transaction
from controlplane.kernel.errors import Conflict
from controlplane.launcher.seed import INSTALLATION
from servers.networks.domain.networks import NetworkRequest
from servers.networks.domain.subnets import SubnetRequest
from servers.networks.selectors.networks import networks_visible
from servers.networks.services.networks import network_create
from servers.networks.services.router_legs import router_interface_add
from servers.networks.services.routers import router_create
from servers.networks.services.subnets import subnet_create

PRIVATE, ROUTER = "private", "router"
PRIVATE_CIDRS = ("10.0.0.0/24", "192.168.233.0/24", "10.233.0.0/24")
RESOLVERS = (Path("/etc/resolv.conf"), Path("/run/systemd/resolve/resolv.conf"))


def networks_seed(public_cidr: str, *, taken: tuple[str, ...] = ()) -> bool:
    """Whether they were made now. `taken`: ranges that guests may want to reach outside, which the inner one avoids."""
    if networks_visible(INSTALLATION).filter(kind=NetworkBackendKind.BRIDGE.value).exists():
        return False
    with suppress(Conflict):  # a network of an administrator's has one of the names
        in_transaction(lambda: _make(public_cidr, taken))
        return True
    return False


def _make(public_cidr: str, taken: tuple[str, ...]) -> None:
    project = project_list().order_by("created_at")[0]
    caller = replace(INSTALLATION, own_project_id=project.pk, project_name=project.name)
    bridge = NetworkBackendKind.BRIDGE
    public = network_create(
        caller=caller,
        request=NetworkRequest(None, PUBLIC, kind=bridge, physical_network=PUBLIC, is_external=True),
    )
    subnet_create(
        caller=caller,
        request=SubnetRequest(public.pk, public_cidr, name=PUBLIC, gateway=gateway_of(public_cidr), has_dhcp=False),
    )
    has_default = networks_visible(caller).filter(is_default=True).exists()
    private = network_create(
        caller=caller,
        request=NetworkRequest(project.pk, PRIVATE, kind=bridge, is_shared=True, is_default=not has_default),
    )
    subnet = subnet_create(
        caller=caller,
        request=SubnetRequest(private.pk, private_cidr(taken), name=PRIVATE, dns_servers=dns_servers()),
    )
    router = router_create(caller=caller, name=ROUTER, external_network=public.pk, project_id=project.pk)
    router_interface_add(caller=caller, router_id=router.pk, subnet_id=subnet.pk)


def private_cidr(taken: tuple[str, ...]) -> str:
    """The first that overlaps nothing that the machine has a route to: guests would not reach that."""
    others = [ipaddress.ip_network(each, strict=False) for each in taken]
    for cidr in PRIVATE_CIDRS:
        network = ipaddress.ip_network(cidr)
        if not any(each.version == network.version and each.prefixlen and network.overlaps(each) for each in others):
            return cidr
    return PRIVATE_CIDRS[0]


def dns_servers(files: tuple[Path, ...] = RESOLVERS) -> tuple[str, ...]:
    """What this machine asks, where guests can ask it as well: no address of its loopback."""
    for file in files:
        with suppress(OSError):
            words = [line.split() for line in file.read_text(errors="replace").splitlines()]
            found = [each[1] for each in words if len(each) > 1 and each[0] == "nameserver"]
            if usable := [each for each in found if _is_reached(each)]:
                return tuple(usable[:3])
    return ()


def _is_reached(address: str) -> bool:
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    return found.version == 4 and not found.is_loopback
