"""What reads a key of an aggregate's metadata: filters, weighers, request filters; and what it does there."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from controlplane.kernel.texts import Translate, gettext_noop, in_english
from scheduling.domain.policy import Policy
from scheduling.domain.request.image_property_names import KNOWN
from scheduling.filters.aggregate_extra_specs import AggregateInstanceExtraSpecsFilter
from scheduling.filters.aggregate_image_properties import AggregateImagePropertiesIsolation
from scheduling.filters.aggregate_multitenancy import TENANT_KEY, AggregateMultiTenancyIsolation
from scheduling.filters.availability_zone import AvailabilityZoneFilter
from scheduling.filters.core import AggregateCoreFilter
from scheduling.filters.disk import AggregateDiskFilter
from scheduling.filters.io_ops import AggregateIoOpsFilter
from scheduling.filters.num_instances import AggregateNumInstancesFilter
from scheduling.filters.ram import AggregateRamFilter
from scheduling.filters.type_affinity import FLAVOR_KEY, AggregateTypeAffinityFilter
from scheduling.request_filters.by_aggregates import (
    REQUIRED,
    TRAIT_PREFIX,
    isolate_aggregates,
    map_az_to_placement_aggregate,
    require_tenant_aggregate,
)
from scheduling.weighers.registry import BUILT_IN as WEIGHERS

ZONE = "availability_zone"
NUMBERS = {
    "cpu_allocation_ratio": (
        AggregateCoreFilter,
        gettext_noop("vCPUs are overcommitted so many times, by this filter's count"),
    ),
    "ram_allocation_ratio": (
        AggregateRamFilter,
        gettext_noop("memory is overcommitted so many times, by this filter's count"),
    ),
    "disk_allocation_ratio": (
        AggregateDiskFilter,
        gettext_noop("disk is overcommitted so many times, by this filter's count"),
    ),
    "max_io_ops_per_host": (
        AggregateIoOpsFilter,
        gettext_noop("a host takes no more while so many guests build or move on it"),
    ),
    "max_instances_per_host": (AggregateNumInstancesFilter, gettext_noop("a host takes so many instances")),
}
"""Keys whose number one filter takes in place of its own."""
OF_ZONE = gettext_noop("a request for the zone {zone} goes to these hosts")
OF_TENANTS = gettext_noop("only instances of the projects named here come to these hosts")
OF_TENANT = gettext_noop("that project's instances come to these hosts alone")
OF_TRAIT = gettext_noop("only requests that require {trait} come to these hosts")
OF_FLAVORS = gettext_noop("only the flavors named here come to these hosts")
OF_WEIGHER = gettext_noop("its multiplier on these hosts")
OF_IMAGES = gettext_noop("images that set this property need one of these values")
OF_SPECS = gettext_noop("flavors that ask for this key need one of these values")


KNOWN_KEYS: tuple[str, ...] = (
    TENANT_KEY,
    FLAVOR_KEY,
    *NUMBERS,
    *sorted(weigher.multiplier_key for weigher in WEIGHERS.values() if weigher.multiplier_key),
)
"""Keys that can be typed as they are, besides the zone; image properties and flavors' own keys can be any."""


class ReaderKind(StrEnum):
    """What kind of thing reads a key."""

    FILTER = "filter"
    WEIGHER = "weigher"
    REQUEST_FILTER = "request filter"


@dataclass(frozen=True, slots=True)
class KeyReader:
    """One that reads a key. `is_on`: under the policy in question it does; `effect` is what it does then, with places
    for the `values`.
    """

    kind: ReaderKind
    name: str
    effect: str
    is_on: bool
    values: Mapping[str, str] = field(default_factory=dict)

    def plain(self, translate: Translate = in_english) -> dict[str, str | bool]:
        """As API and pages have it: kind, name, effect, is_on."""
        effect = translate(self.effect).format(**self.values)
        return {"kind": self.kind.value, "name": self.name, "effect": effect, "is_on": self.is_on}


def readers_of(key: str, value: str, policy: Policy) -> tuple[KeyReader, ...]:
    """All that look at this key, those that the policy has first."""
    options = policy.options
    found: list[KeyReader] = []

    def by_filter(kind: type, effect: str, **values: str) -> None:
        found.append(KeyReader(ReaderKind.FILTER, kind.__name__, effect, kind.__name__ in policy.filters, values))

    def by_request_filter(reader: object, effect: str, *, is_on: bool, **values: str) -> None:
        name = str(getattr(reader, "__name__", reader))
        found.append(KeyReader(ReaderKind.REQUEST_FILTER, name, effect, is_on, values))

    if key == ZONE:
        by_request_filter(map_az_to_placement_aggregate, OF_ZONE, is_on=True, zone=value)
        by_filter(AvailabilityZoneFilter, OF_ZONE, zone=value)
        return _on_first(found)
    if key.startswith(TENANT_KEY):
        by_filter(AggregateMultiTenancyIsolation, OF_TENANTS)
        is_on = options.limit_tenants_to_placement_aggregate
        by_request_filter(require_tenant_aggregate, OF_TENANT, is_on=is_on)
    if key.startswith(TRAIT_PREFIX) and value == REQUIRED:
        trait, is_on = key.removeprefix(TRAIT_PREFIX), options.enable_isolated_aggregate_filtering
        by_request_filter(isolate_aggregates, OF_TRAIT, is_on=is_on, trait=trait)
    if key in NUMBERS:
        by_filter(*NUMBERS[key])
    if key == FLAVOR_KEY:
        by_filter(AggregateTypeAffinityFilter, gettext_noop(OF_FLAVORS))
    found += _weighers(key, policy)
    if key in KNOWN:
        by_filter(AggregateImagePropertiesIsolation, gettext_noop(OF_IMAGES))
    by_filter(AggregateInstanceExtraSpecsFilter, gettext_noop(OF_SPECS))
    return _on_first(found)


def _weighers(key: str, policy: Policy) -> list[KeyReader]:
    used = {one.name for one in policy.weighers}
    return [
        KeyReader(ReaderKind.WEIGHER, name, OF_WEIGHER, name in used)
        for name, weigher in WEIGHERS.items()
        if weigher.multiplier_key and weigher.multiplier_key == key
    ]


def _on_first(found: list[KeyReader]) -> tuple[KeyReader, ...]:
    return tuple(sorted(found, key=lambda one: not one.is_on))
