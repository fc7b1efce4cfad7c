"""What ports hold of Placement, such as bandwidth, by their instance: taken when an instance that is there gets a port,
given back when one leaves it.
"""

import uuid
from collections import defaultdict
from collections.abc import Callable

from controlplane.identity.domain import Caller
from controlplane.kernel.errors import Conflict, NoCapacity
from controlplane.kernel.texts import phrase as _
from placement.candidates import CandidateQuery, RequestGroup
from placement.selectors import allocations_by_consumer
from placement.selectors.candidates import candidate_refusals, candidate_search
from placement.selectors.providers import provider_traits_by_uuid
from placement.services import allocations_extend, allocations_reduce
from scheduling.domain.request.resources import group_policy
from servers.models import Instance, Port
from servers.networks.domain.port_providers import amounts_of_groups
from servers.networks.domain.port_resources import ResourceGroup, resource_groups


def port_allocations_take(row: Instance, port: Port, *, caller: Caller) -> None:
    """Let the instance hold what a port asks for that it has just got, of providers of its own host. Call it in the
    transaction in which it gets the port: then both are there, or none.

    As in Nova one provider serves each of the port's groups whole. Raises NoCapacity, which tells operators why, and
    Conflict for an instance on no host, or which holds nothing.
    """
    groups = resource_groups(port.resource_request)
    if not groups:
        return
    node = row.compute_node_uuid
    if node is None:
        raise Conflict(_("The instance is on no host, which could serve what the port asks for."), field="port")
    query = _query(groups, node, row)
    found = candidate_search(query).candidates
    if not found:
        raise _not_served(caller, lambda: _refusal(query, node))
    try:
        allocations_extend(row.pk, found[0].allocations)
    except NoCapacity as error:  # somebody else was faster, or it is too much for one consumer
        shortage = error.message
        raise _not_served(caller, lambda: shortage) from error


def _not_served(caller: Caller, reason: Callable[[], object]) -> NoCapacity:
    """Whose project it is learns nothing of hosts and what is on them; nor is the reason worked out for them."""
    if caller.sees_all:
        text = _("The instance's host does not serve what the port asks for: {reason}", reason=reason())
    else:
        text = _("The instance's host does not serve what the port asks for, such as bandwidth.")
    return NoCapacity(text, field="port")


def _query(groups: tuple[ResourceGroup, ...], node: uuid.UUID, row: Instance) -> CandidateQuery:
    asked = tuple(
        RequestGroup(
            f"_{group.name}", group.resources, tuple(frozenset({name}) for name in group.required), in_tree=node
        )
        for group in groups
    )
    policy = group_policy(row.flavor.get("extra_specs", {}))
    return CandidateQuery(asked, group_policy=policy or "none", limit=1)


def _refusal(query: CandidateQuery, node: uuid.UUID) -> object:
    refusal = candidate_refusals(query).of(node)
    return refusal.phrase() if refusal else ""


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
