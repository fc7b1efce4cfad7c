"""A provider in the wire format. The snapshot of the fleet caches its bytes beside the provider."""

from collections.abc import Iterable
from typing import Protocol, cast
from uuid import UUID

from controlplane.openstack.answers import JsonText, json_text
from controlplane.openstack.shapes import LinkJson
from placement.candidates import ProviderFacts
from placement.openstack.call import PlacementCall
from placement.openstack.schema_providers import TREES_SINCE
from placement.openstack.shapes import ProviderJson, ProvidersShown

# What a provider links to besides itself, and since which version.
_LINKS = ((0, "inventories"), (0, "usages"), (1, "aggregates"), (6, "traits"), (11, "allocations"))
# The versions that changed the form of a provider.
_SHAPES_SINCE = (0, 1, 6, 11, TREES_SINCE)


class ShownProvider(Protocol):
    """What a provider must have to be shown: a row of the database does, and so does the snapshot."""

    @property
    def uuid(self) -> UUID: ...
    @property
    def name(self) -> str: ...
    @property
    def generation(self) -> int: ...
    @property
    def parent_uuid(self) -> UUID | None: ...
    @property
    def root_uuid(self) -> UUID: ...


def provider_json(call: PlacementCall, provider: ShownProvider) -> JsonText[ProviderJson]:
    """The provider in the version of this call."""
    uuid = str(provider.uuid)
    href = call.url("resource_providers", uuid)
    links: list[LinkJson] = [{"rel": "self", "href": href}]
    links += [{"rel": rel, "href": f"{href}/{rel}"} for since, rel in _LINKS if call.minor >= since]
    data: ProviderJson = {"uuid": uuid, "name": provider.name, "generation": provider.generation, "links": links}
    if call.minor >= TREES_SINCE:
        parent = provider.parent_uuid
        data["parent_provider_uuid"] = None if parent is None else str(parent)
        data["root_provider_uuid"] = str(provider.root_uuid)
    return json_text(data)


def cached_provider_json(call: PlacementCall, provider: ProviderFacts) -> JsonText[ProviderJson]:
    """The same; rendered once for as long as the provider stays as it is."""
    key = ("provider", max(shape for shape in _SHAPES_SINCE if shape <= call.minor), call.prefix)
    found = provider.rendered.get(key)
    if found is None:
        found = provider.rendered[key] = provider_json(call, provider)
    return cast("JsonText[ProviderJson]", found)


def providers_json(rendered: Iterable[JsonText[ProviderJson]]) -> JsonText[ProvidersShown]:
    """The list of them."""
    return cast("JsonText[ProvidersShown]", b'{"resource_providers":[' + b",".join(rendered) + b"]}")
