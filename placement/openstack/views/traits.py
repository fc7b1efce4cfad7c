"""Traits, and those of a provider."""

from typing import Any

from controlplane.kernel.errors import Conflict, Invalid, NotFound
from controlplane.openstack.answers import Empty, JsonAnswer
from controlplane.openstack.faults import ApiFault, bad_request, conflict, not_found
from placement.openstack.call import PlacementCall
from placement.openstack.lookups import no_provider, provider_faults, provider_uuid
from placement.openstack.schema_names import CUSTOM_NAME, PROVIDER_TRAITS, TRAIT_QUERY
from placement.openstack.shapes import ProviderTraitsShown, TraitsShown
from placement.selectors.names import trait_names, unknown_traits
from placement.selectors.providers import ProviderTraits, provider_traits
from placement.services.names import trait_delete as trait_row_delete
from placement.services.names import trait_ensure
from placement.services.traits import provider_traits_set

_BAD_NAME = (
    'The trait is invalid. A valid trait must be no longer than 255 characters, start with the prefix "CUSTOM_" '
    'and use following characters: "A"-"Z", "0"-"9" and "_"'
)
_BAD_FILTER = (
    "Badly formatted name parameter. Expected name query string parameter in form: "
    "?name=[in|startswith]:[name1,name2|prefix]."
)
_TRUTHS = {"true": True, "false": False}


def trait_list(call: PlacementCall) -> JsonAnswer[TraitsShown]:
    """Their names; `name=in:` or `name=startswith:`, and `associated` (some provider has it), narrow them."""
    call.check_query(TRAIT_QUERY)
    return call.answer({"traits": trait_names(**_name_filter(call), is_associated=_associated(call))})


def _name_filter(call: PlacementCall) -> dict[str, Any]:
    name = call.query.get("name")
    if name is None:
        return {}
    operator, separator, value = name.partition(":")
    if not separator:
        raise bad_request(f'{_BAD_FILTER} Got: "{name}"')
    if operator == "in":
        return {"within": value.split(",")}
    return {"prefix": value} if operator == "startswith" else {}


def _associated(call: PlacementCall) -> bool | None:
    text = call.query.get("associated")
    if text is None:
        return None
    if text.lower() not in _TRUTHS:
        raise bad_request('The query parameter "associated" only accepts "true" or "false"')
    return _TRUTHS[text.lower()]


def _no_trait(name: str) -> ApiFault:
    return not_found(f"No such trait(s): {name}.")


def trait_show(call: PlacementCall, name: str) -> Empty:
    """Whether it exists: the answer has no body."""
    if unknown_traits([name]):
        raise _no_trait(name)
    return call.empty(is_cached=True)


def trait_put(call: PlacementCall, name: str) -> Empty:
    """Let there be this custom trait."""
    if CUSTOM_NAME.complaint(name):
        raise bad_request(_BAD_NAME)
    is_new, location = trait_ensure(name), call.absolute_url("traits", name)
    return call.empty(status=201 if is_new else 204, location=location, is_cached=True)


def trait_delete(call: PlacementCall, name: str) -> Empty:
    """A custom trait that no provider has."""
    try:
        trait_row_delete(name)
    except NotFound as error:
        raise _no_trait(name) from error
    except Invalid as error:
        raise bad_request(error.message) from error
    except Conflict as error:
        raise conflict(error.message) from error
    return call.empty()


def provider_trait_list(call: PlacementCall, uuid: str) -> JsonAnswer[ProviderTraitsShown]:
    """The traits of a provider."""
    return _answered(call, uuid, provider_traits(provider_uuid(uuid)))


def _answered(call: PlacementCall, uuid: str, found: ProviderTraits | None) -> JsonAnswer[ProviderTraitsShown]:
    if found is None:
        raise no_provider(uuid)
    data: ProviderTraitsShown = {"traits": found.traits, "resource_provider_generation": found.generation}
    return call.answer(data, modified=found.updated_at)


def provider_trait_replace(call: PlacementCall, uuid: str) -> JsonAnswer[ProviderTraitsShown]:
    """Make these its traits; all must exist. The generation stays when nothing changes."""
    data = call.body(PROVIDER_TRAITS)
    wanted = sorted(set(data["traits"]))
    try:
        with provider_faults(uuid):
            provider = provider_traits_set(
                provider_uuid(uuid),
                wanted,
                owner=None,
                expected_generation=data["resource_provider_generation"],
                make_custom=False,
            )
    except Invalid as error:
        raise bad_request(f"No such trait {', '.join(error.extra['unknown'])}") from error
    return call.answer({"traits": wanted, "resource_provider_generation": provider.generation})


def provider_trait_delete(call: PlacementCall, uuid: str) -> Empty:
    """Take all of them off, whatever the generation."""
    with provider_faults(uuid):
        provider_traits_set(provider_uuid(uuid), (), owner=None)
    return call.empty()
