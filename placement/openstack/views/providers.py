"""Resource providers."""

from collections.abc import Sequence
from uuid import UUID, uuid4

from controlplane.openstack.answers import Empty, JsonAnswer, JsonText
from controlplane.openstack.faults import ApiFault, bad_request, conflict, not_found
from placement.candidates.query import RequestGroup
from placement.domain.provider_errors import (
    ParentRefused,
    ParentRule,
    ProviderHasChildren,
    ProviderInUse,
    ProviderTaken,
)
from placement.openstack.call import PlacementCall
from placement.openstack.faults import DUPLICATE_NAME, PROVIDER_CANNOT_DELETE_PARENT, PROVIDER_IN_USE
from placement.openstack.lookups import no_provider, provider_faults, provider_first, provider_uuid
from placement.openstack.provider_json import cached_provider_json, provider_json, providers_json
from placement.openstack.query_values import (
    check_resource_classes,
    check_traits,
    parse_in_tree,
    parse_member_of,
    parse_required,
    parse_resources,
)
from placement.openstack.schema_providers import (
    provider_create_schema,
    provider_query_schema,
    provider_update_schema,
)
from placement.openstack.shapes import ProviderJson, ProvidersShown
from placement.selectors.candidates import providers_matching
from placement.selectors.providers import ProviderRow, provider_row, provider_rows
from placement.services.providers import UNCHANGED, Unchanged
from placement.services.providers import provider_create as provider_row_create
from placement.services.providers import provider_delete as provider_row_delete
from placement.services.providers import provider_update as provider_row_update

BODY_AFTER_POST_SINCE = 20
MOVES_SINCE = 37

_PARENT_RULES = {
    ParentRule.UNKNOWN: "parent provider UUID does not exist.",
    ParentRule.ITSELF: "parent provider UUID cannot be same as UUID.",
    ParentRule.LOOP: "creating loop in the provider tree is not allowed.",
    ParentRule.MOVE: "re-parenting a provider is not currently allowed.",
    ParentRule.DETACH: "un-parenting a provider is not currently allowed.",
}


def _answered(
    call: PlacementCall, uuid: UUID, headers: dict[str, str] | None = None
) -> JsonAnswer[JsonText[ProviderJson]]:
    provider = provider_row(uuid)
    if provider is None:
        raise no_provider(uuid)
    return call.answer(provider_json(call, provider), modified=provider.updated_at, headers=headers)


def provider_show(call: PlacementCall, uuid: str) -> JsonAnswer[JsonText[ProviderJson]]:
    return _answered(call, provider_uuid(uuid))


def provider_list(call: PlacementCall) -> JsonAnswer[JsonText[ProvidersShown]]:
    """Those that meet all the parameters, each by itself.

    What asks for resources, traits, aggregates or a tree is found in the snapshot of the fleet, as for candidates;
    it does not know when a provider was changed, so such an answer is as new as can be.
    """
    call.check_query(provider_query_schema(call.minor))
    query = call.query
    uuid, name, group = _uuid_or_none(query.get("uuid")), query.get("name"), _group(call)
    if group is None:
        return _listed(call, provider_rows(uuid=uuid, name=name))
    facts = [
        provider
        for provider in providers_matching(group)
        if uuid in (None, provider.uuid) and name in (None, provider.name)
    ]
    return call.answer(providers_json(cached_provider_json(call, provider) for provider in facts))


def _listed(call: PlacementCall, providers: Sequence[ProviderRow]) -> JsonAnswer[JsonText[ProvidersShown]]:
    modified = max((provider.updated_at for provider in providers), default=None)
    return call.answer(providers_json(provider_json(call, provider) for provider in providers), modified=modified)


def _group(call: PlacementCall) -> RequestGroup | None:
    query = call.query
    if query.keys() <= {"uuid", "name"}:
        return None
    member_of, forbidden_aggregates = parse_member_of(query.getlist("member_of"), call.minor)
    required, forbidden = parse_required(query.getlist("required"), call.minor)
    resources, in_tree = query.get("resources"), query.get("in_tree")
    amounts = {} if resources is None else parse_resources(resources)
    check_resource_classes(amounts)
    check_traits(forbidden.union(*required))
    return RequestGroup(
        resources=amounts,
        required=required,
        forbidden=forbidden,
        member_of=member_of,
        forbidden_aggregates=forbidden_aggregates,
        in_tree=None if in_tree is None else parse_in_tree(in_tree),
    )


def provider_create(call: PlacementCall) -> JsonAnswer[JsonText[ProviderJson]] | Empty:
    """A new one, under a uuid that the client may choose."""
    data = call.body(provider_create_schema(call.minor))
    uuid = UUID(data["uuid"]) if data.get("uuid") else uuid4()
    try:
        provider_row_create(uuid, data["name"], _uuid_or_none(data.get("parent_provider_uuid")))
    except ProviderTaken as error:
        named = ", ".join(f"{field}: {value}" for field, value in error.taken.items())
        raise conflict(f"Conflicting resource provider {named} already exists.", DUPLICATE_NAME) from error
    except ParentRefused as error:
        raise _parent_fault(f'Unable to create resource provider "{data["name"]}", {uuid}', error) from error
    location = call.absolute_url("resource_providers", uuid)
    if call.minor >= BODY_AFTER_POST_SINCE:
        return _answered(call, uuid, {"Location": location})
    return call.empty(status=201, location=location)


def _uuid_or_none(text: str | None) -> UUID | None:
    return None if text is None else UUID(text)


def _parent_fault(prefix: str, error: ParentRefused) -> ApiFault:
    return bad_request(f"{prefix}: {_PARENT_RULES[error.rule]}")


def provider_update(call: PlacementCall, uuid: str) -> JsonAnswer[JsonText[ProviderJson]]:
    """Another name, and from 1.14 on a place in a tree: set once, moved and taken off only since 1.37."""
    with provider_first(uuid):
        data = call.body(provider_update_schema(call.minor))
    parent: UUID | Unchanged | None = UNCHANGED
    if "parent_provider_uuid" in data:
        parent = _uuid_or_none(data["parent_provider_uuid"])
    try:
        with provider_faults(uuid):
            provider_row_update(
                provider_uuid(uuid), name=data["name"], parent_uuid=parent, may_move=call.minor >= MOVES_SINCE
            )
    except ProviderTaken as error:
        raise conflict(f"Conflicting resource provider {data['name']} already exists.", DUPLICATE_NAME) from error
    except ParentRefused as error:
        raise _parent_fault(f"Unable to save resource provider {uuid}", error) from error
    return _answered(call, provider_uuid(uuid))


def provider_delete(call: PlacementCall, uuid: str) -> Empty:
    """One that has no children and of which nobody holds anything."""
    try:
        is_gone = provider_row_delete(provider_uuid(uuid))
    except ProviderHasChildren as error:
        raise conflict(
            f"Unable to delete parent resource provider {uuid}: It has child resource providers.",
            PROVIDER_CANNOT_DELETE_PARENT,
        ) from error
    except ProviderInUse as error:
        raise conflict(
            f"Unable to delete resource provider {uuid}: Resource provider has allocations.", PROVIDER_IN_USE
        ) from error
    if not is_gone:
        raise not_found(f"No resource provider with uuid {uuid} found for delete")
    return call.empty()
