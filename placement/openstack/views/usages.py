"""How much is used: of a provider, and by a project."""

from controlplane.openstack.answers import JsonAnswer
from placement.openstack.access import Access
from placement.openstack.call import PlacementCall
from placement.openstack.lookups import no_provider, provider_uuid
from placement.openstack.schema_usages import TYPES_SINCE, usages_query_schema
from placement.openstack.shapes import ProviderUsagesShown, UsagesByTypeShown, UsagesShown
from placement.selectors.usage import provider_inventories, usage_by_type, usage_of_project


def provider_usages(call: PlacementCall, uuid: str) -> JsonAnswer[ProviderUsagesShown]:
    """What is used of each inventory of the provider."""
    found = provider_inventories(provider_uuid(uuid))
    if found is None:
        raise no_provider(uuid)
    used = {name: inventory.used for name, inventory in found.inventories.items()}
    return call.answer({"resource_provider_generation": found.generation, "usages": used})


def total_usages(call: PlacementCall) -> JsonAnswer[UsagesShown | UsagesByTypeShown]:
    """What a project (and a user in it) holds of each class; from 1.38 on by type of consumer."""
    query = call.query
    call.require(Access.PROJECT_USAGES, project_id=query.get("project_id"))
    call.check_query(usages_query_schema(call.minor))
    project, user = query.get("project_id", ""), query.get("user_id")
    if call.minor < TYPES_SINCE:
        return call.answer({"usages": usage_of_project(project, user)})
    by_type = usage_by_type(project, user, query.get("consumer_type"))
    return call.answer(
        {"usages": {name: {"consumer_count": usage.consumers, **usage.used} for name, usage in by_type.items()}}
    )
