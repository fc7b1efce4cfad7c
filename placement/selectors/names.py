"""Resource classes and traits."""

from collections.abc import Collection, Iterable

import os_resource_classes
from django.db.models import Exists, OuterRef, QuerySet

from placement.domain.names import standard_resource_classes, standard_traits
from placement.models import ProviderTrait, ResourceClass, Trait


def resource_class_list() -> QuerySet[ResourceClass]:
    """All resource classes by name."""
    return ResourceClass.objects.order_by("name")


def trait_list() -> QuerySet[Trait]:
    """All traits by name."""
    return Trait.objects.order_by("name")


def resource_class_names() -> list[str]:
    """All resource classes: the standard ones in the order of their catalogue, then the others as they came."""
    return in_catalogue_order(ResourceClass.objects.order_by("pk").values_list("name", flat=True))


def in_catalogue_order(names: Iterable[str]) -> list[str]:
    """These resource classes: standard ones as their catalogue has them, then the others as they come."""
    place = {name: number for number, name in enumerate(os_resource_classes.STANDARDS)}
    return sorted(names, key=lambda name: place.get(name, len(place)))


def trait_names(
    *, within: Collection[str] | None = None, prefix: str = "", is_associated: bool | None = None
) -> list[str]:
    """Traits by name; `within` these names, with this prefix, and with any provider having them, or none."""
    rows = Trait.objects.order_by("name")
    if within is not None:
        rows = rows.filter(name__in=within)
    if prefix:
        rows = rows.filter(name__startswith=prefix)
    if is_associated is not None:
        held = Exists(ProviderTrait.objects.filter(trait=OuterRef("pk")))
        rows = rows.filter(held if is_associated else ~held)
    return list(rows.values_list("name", flat=True))


def is_standard_resource_class(name: str) -> bool:
    """Whether the catalogue has this class: it can be neither changed nor deleted."""
    return name in standard_resource_classes()


def is_standard_trait(name: str) -> bool:
    """Whether the catalogue has this trait: it cannot be deleted."""
    return name in standard_traits()


def unknown_resource_classes(names: Collection[str]) -> frozenset[str]:
    """Those of `names` that are no resource classes. Standard ones are always there and cost no query."""
    return _unknown(ResourceClass, frozenset(names) - standard_resource_classes())


def unknown_traits(names: Collection[str]) -> frozenset[str]:
    """Those of `names` that are no traits. Standard ones are always there and cost no query."""
    return _unknown(Trait, frozenset(names) - standard_traits())


def _unknown(model: type[ResourceClass] | type[Trait], names: frozenset[str]) -> frozenset[str]:
    return names - frozenset(model.objects.filter(name__in=names).values_list("name", flat=True)) if names else names
