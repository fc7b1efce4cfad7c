"""Reading floating addresses: those of the caller's project; all for an admin."""

import uuid
from collections.abc import Collection

from django.db.models import QuerySet

from controlplane.identity.domain import Caller
from controlplane.kernel.texts import phrase as _
from servers.models import FloatingIP
from servers.networks.domain.routing_errors import FloatingIPNotFound


def floating_ips_visible(*, caller: Caller | None) -> QuerySet[FloatingIP]:
    """With their networks, ports and routers, in one query."""
    rows = FloatingIP.objects.select_related("network", "port", "router")
    return rows if caller is None or caller.sees_all else rows.filter(project_id=caller.project_id)


def floating_ip_get(*, caller: Caller | None, floating_ip_id: uuid.UUID) -> FloatingIP:
    """Raises FloatingIPNotFound, also for one that the caller may not know of."""
    row = floating_ips_visible(caller=caller).filter(pk=floating_ip_id).first()
    if row is None:
        raise FloatingIPNotFound(_("Floating address {floating_ip_id} does not exist.", floating_ip_id=floating_ip_id))
    return row


def floating_ips_held_by(port_ids: Collection[uuid.UUID]) -> dict[uuid.UUID, uuid.UUID]:
    """{port: the floating address whose place in the external network it keeps} of those that do. One query."""
    return dict(FloatingIP.objects.filter(address_port__in=port_ids).values_list("address_port_id", "pk"))
