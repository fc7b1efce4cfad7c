"""What subnets a router joins: none of them has addresses of another."""

import uuid
from collections.abc import Sequence

from computeagent.protocol.networks import NetworkBackendKind
from controlplane.kernel.errors import Conflict
from controlplane.kernel.texts import phrase as _
from servers.models import IPAllocation, Port, Router, Subnet
from servers.networks.domain.routers import overlap_between
from servers.networks.domain.routing_errors import SubnetsOverlap


def router_cidrs(router_id: uuid.UUID) -> dict[str, str]:
    """{subnet, as it is called: its CIDR} of all that the router has a leg or its gateway in. One query."""
    rows = IPAllocation.objects.filter(port__router=router_id).order_by("pk")
    found = rows.values_list("subnet_id", "subnet__name", "subnet__cidr")
    return {f"{name or pk} ({cidr})": cidr for pk, name, cidr in found}


def subnets_joinable(router: Router, subnets: Sequence[Subnet], *, field: str) -> None:
    """Raises SubnetsOverlap; Conflict for networks that another engine carries than the router's others, or no router
    can be in.
    """
    others = router_cidrs(router.pk)
    for subnet in subnets:
        if name := overlap_between(subnet.cidr, others):
            raise SubnetsOverlap(
                _(
                    "{cidr} overlaps with {name}, which router {router} has already: it could not tell "
                    "where an address is.",
                    cidr=subnet.cidr,
                    name=name,
                    router=router,
                ),
                field=field,
            )
    kinds = {subnet.network.kind for subnet in subnets}
    if NetworkBackendKind.HYPERVISOR.value in kinds:
        raise Conflict(_("A network of the hypervisor's own has no routers of ours."), field=field)
    now = set(Port.objects.filter(router=router.pk).order_by().values_list("network__kind", flat=True).distinct())
    if len(kinds | now) > 1:
        words = " and ".join(sorted(str(kind) for kind in kinds | now))
        raise Conflict(_("One router cannot join networks of kind {words}.", words=words), field=field)
