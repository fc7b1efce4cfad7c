"""The order in which all who change ports take locks, so that two wait for each other and never in a ring.

Networks come first, then ports, then floating addresses and routers, last what hosts are to have (`networks_changed`);
rows of one table in the order of their ids. Security groups are locked in between, by those who bring members.
"""

import uuid
from collections.abc import Collection

from django.db.models import QuerySet

from servers.models import Network, Port


def networks_lock(network_ids: Collection[uuid.UUID | None]) -> None:
    """Lock these networks until the transaction ends. None, a network of the hypervisor's own, is passed over."""
    if named := {one for one in network_ids if one is not None}:
        rows = Network.objects.select_for_update(no_key=True).filter(pk__in=named).order_by("pk")
        list(rows.values_list("pk", flat=True))


def ports_lock(ports: QuerySet[Port], *, for_deletion: bool = False) -> list[uuid.UUID]:
    """Lock these ports until the transaction ends. Returns those that are there. The caller has the networks."""
    rows = ports.select_for_update(of=("self",), no_key=not for_deletion).order_by("pk")
    return list(rows.values_list("pk", flat=True))


def ports_with_networks_lock(
    ports: QuerySet[Port], *, more_networks: Collection[uuid.UUID] = (), for_deletion: bool = False
) -> list[uuid.UUID]:
    """The same, with their networks and these others before. A port keeps its network, so the first look is enough."""
    networks_lock({*ports.order_by().values_list("network_id", flat=True), *more_networks})
    return ports_lock(ports, for_deletion=for_deletion)
