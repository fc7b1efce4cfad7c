"""What ports hold of Placement, such as bandwidth, by their instance: given back when a port leaves it."""

import uuid
from collections import defaultdict

from placement.selectors import allocations_by_consumer
from placement.selectors.providers import provider_traits_by_uuid
from placement.services import allocations_reduce
from servers.models import Port
from servers.networks.domain.port_providers import amounts_of_groups
from servers.networks.domain.port_resources import ResourceGroup, resource_groups


def port_allocations_free(*, instance_uuid: uuid.UUID, groups: tuple[ResourceGroup, ...]) -> None:
    """Let the instance hold no longer what a port asked for that has just left it. Call it in the transaction in which
    the port leaves: then it is freed once. As Nova on a detach, it refuses nobody.
    """
    if not groups:
        return
    held: dict[uuid.UUID, dict[str, int]] = defaultdict(dict)
    for one in allocations_by_consumer([instance_uuid]).get(instance_uuid, ()):
        held[one.provider_uuid][one.resource_class] = one.used
    asked = Port.objects.filter(instance_uuid=instance_uuid).values_list("resource_request", flat=True)
    staying = [group for request in asked for group in resource_groups(request)]
    amounts = amounts_of_groups(groups, staying, held, provider_traits_by_uuid(held))
    allocations_reduce(instance_uuid, amounts)
