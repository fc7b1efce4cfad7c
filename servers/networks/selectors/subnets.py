"""Reading subnets: who sees a network sees its subnets, except of external networks, as in Neutron."""

import uuid
from collections.abc import Collection

from django.db.models import Count, Q, QuerySet

from computeagent.protocol.networks import Ipv6Mode
from controlplane.identity.domain import Caller
from controlplane.kernel.texts import phrase as _
from servers.models import Subnet
from servers.networks.domain.errors import SubnetNotFound


def subnets_visible(caller: Caller | None) -> QuerySet[Subnet]:
    """Subnets of the caller's own networks and of shared ones; all for administrators and without a caller."""
    if caller is None or caller.sees_all:
        return Subnet.objects.all()
    return Subnet.objects.filter(Q(network__project_id=caller.project_id) | Q(network__is_shared=True))


def subnets_in(caller: Caller, network_id: uuid.UUID) -> QuerySet[Subnet]:
    """The subnets of a network that the caller may know of, the oldest first."""
    return subnets_visible(caller).filter(network=network_id).order_by("created_at", "pk")


def subnets_shown(caller: Caller | None) -> QuerySet[Subnet]:
    """The same with the number of addresses that ports have (`addresses_used`)."""
    return subnets_visible(caller).annotate(addresses_used=Count("allocations")).order_by("created_at", "pk")


def subnet_get(*, caller: Caller | None, subnet_id: uuid.UUID) -> Subnet:
    """The subnet with this id, as `subnets_shown`. Raises SubnetNotFound."""
    row = subnets_shown(caller).filter(pk=subnet_id).first()
    if row is None:
        raise SubnetNotFound(_("Subnet {subnet_id} does not exist.", subnet_id=subnet_id))
    return row


def ipv6_mode_of(subnet: Subnet) -> str | None:
    """How its guests get their IPv6 addresses; None of IPv4, and where they are told by their config drive."""
    if subnet.ip_version != 6 or not subnet.has_dhcp:
        return None
    return subnet.ipv6_mode or Ipv6Mode.STATEFUL.value


def metadata_is_answered(*, networks: Collection[uuid.UUID] = (), ports: Collection[uuid.UUID] = ()) -> bool:
    """Whether a guest with new ports in these networks, or with these ports, reaches the metadata service: a DHCP
    server of ours tells it an IPv4 address and the way.
    """
    has_port = Q(network__in=networks) | Q(allocations__port__in=ports)
    return Subnet.objects.filter(has_port, ip_version=4, has_dhcp=True).exists()
