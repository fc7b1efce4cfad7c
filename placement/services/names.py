"""Names of resource classes and traits: the standard catalogues, and custom names made on demand."""

from collections.abc import Collection

import os_resource_classes
import os_traits

from controlplane.kernel.errors import Invalid
from placement.domain import is_custom
from placement.models import ResourceClass, Trait

NamedModel = type[ResourceClass] | type[Trait]


def standard_names_sync() -> int:
    """Add what the standard catalogues have and the database lacks; the number added. Two queries when all is there.

    Names that left a catalogue stay: they may be in use.
    """
    added = _add_missing(ResourceClass, os_resource_classes.STANDARDS)
    return added + _add_missing(Trait, os_traits.get_traits())


def _add_missing(model: NamedModel, names: Collection[str]) -> int:
    present = set(model.objects.values_list("name", flat=True))
    missing = [name for name in names if name not in present]
    if missing:
        _create(model, missing)
    return len(missing)


def _create(model: NamedModel, names: Collection[str]) -> None:
    """Another process may add the same names at the same moment: that is no conflict."""
    if model is ResourceClass:
        ResourceClass.objects.bulk_create([ResourceClass(name=name) for name in sorted(names)], ignore_conflicts=True)
    else:
        Trait.objects.bulk_create([Trait(name=name) for name in sorted(names)], ignore_conflicts=True)


def resource_class_ids(names: Collection[str]) -> dict[str, int]:
    """Ids of these classes. A missing custom class is made; any other unknown name raises Invalid."""
    return _ids(ResourceClass, names, field="resource_class", noun="resource classes")


def trait_ids(names: Collection[str]) -> dict[str, int]:
    """Ids of these traits. A missing custom trait is made; any other unknown name raises Invalid."""
    return _ids(Trait, names, field="traits", noun="traits")


def _ids(model: NamedModel, names: Collection[str], *, field: str, noun: str) -> dict[str, int]:
    found = dict(model.objects.filter(name__in=names).values_list("name", "pk"))
    missing = sorted(set(names) - set(found))
    unknown = [name for name in missing if not is_custom(name)]
    if unknown:
        raise Invalid(f"There are no {noun} named {', '.join(unknown)}; custom names start with CUSTOM_.", field=field)
    if missing:
        _create(model, missing)
        found |= dict(model.objects.filter(name__in=missing).values_list("name", "pk"))
    return found
