"""Names of resource classes and traits: the standard catalogues, and custom names, made on demand or by request."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import TypeVar

import os_resource_classes
import os_traits
from django.db import IntegrityError

from controlplane.audit_log.recording.audited import audited
from controlplane.infra.db import in_transaction
from controlplane.infra.model_names import model_name
from controlplane.kernel.errors import Conflict, Invalid, NotFound
from controlplane.kernel.texts import phrase as _
from placement.domain import is_custom
from placement.models import Allocation, Inventory, ProviderTrait, ResourceClass, Trait
from placement.selectors.names import is_standard_resource_class, is_standard_trait
from placement.services.locks import providers_stamp

NamedModel = type[ResourceClass] | type[Trait]
M = TypeVar("M", ResourceClass, Trait)


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


def _create(model: NamedModel, names: Collection[str], *, is_reported: bool = False) -> None:
    """Another process may add the same names at the same moment: that is no conflict."""
    if model is ResourceClass:
        ResourceClass.objects.bulk_create([ResourceClass(name=name) for name in sorted(names)], ignore_conflicts=True)
    else:
        rows = [Trait(name=name, is_reported=is_reported) for name in sorted(names)]
        Trait.objects.bulk_create(rows, ignore_conflicts=True)


def resource_class_ids(names: Collection[str], *, make_custom: bool = True) -> dict[str, int]:
    """Ids of these classes. A missing custom class is made, if wanted; any other unknown name raises Invalid."""
    return _ids(ResourceClass, names, make_custom, field="resource_class", noun="resource classes")


def trait_ids(names: Collection[str], *, make_custom: bool = True, is_reported: bool = False) -> dict[str, int]:
    """Ids of these traits. A missing custom trait is made, if wanted; any other unknown name raises Invalid.

    In the caller's transaction. `is_reported`: it is a host that says so. A name that nobody else ever gave goes with
    the last provider that has it (`reported_traits_forget`); one that a person gives stays from then on.
    """
    custom = [name for name in names if is_custom(name)]
    known = Trait.objects.filter(name__in=custom, is_reported=True)
    if custom and is_reported:
        # Held until they are used, so that nobody removes them meanwhile.
        list(known.select_for_update(no_key=True).order_by("pk").values_list("pk", flat=True))
    elif custom:
        known.update(is_reported=False)
    return _ids(Trait, names, make_custom, field="traits", noun="traits", is_reported=is_reported)


def reported_traits_forget(names: Collection[str]) -> int:
    """Remove those of these traits that only hosts had reported, and that no provider has any more; the number removed.

    In the transaction in which a provider lost them. One that somebody is about to use is left.
    """
    custom = [name for name in names if is_custom(name)]
    if not custom:
        return 0
    held = Trait.objects.filter(name__in=custom, is_reported=True).select_for_update(skip_locked=True).order_by("pk")
    ids = set(held.values_list("pk", flat=True))
    if not ids:
        return 0
    # Looked at anew once they are held: whoever used one before has committed.
    used = ProviderTrait.objects.filter(trait__in=ids).values_list("trait_id", flat=True).distinct()
    return Trait.objects.filter(pk__in=ids - set(used)).delete()[0]


def _ids(
    model: NamedModel, names: Collection[str], make_custom: bool, *, field: str, noun: str, is_reported: bool = False
) -> dict[str, int]:
    found = dict(model.objects.filter(name__in=names).values_list("name", "pk"))
    missing = sorted(set(names) - set(found))
    unknown = [name for name in missing if not (make_custom and is_custom(name))]
    if unknown:
        raise Invalid(
            _(
                "There are no {noun} named {unknown}; custom names start with CUSTOM_.",
                noun=noun,
                unknown=", ".join(unknown),
            ),
            field=field,
            unknown=unknown,
        )
    if missing:
        _create(model, missing, is_reported=is_reported)
        found |= dict(model.objects.filter(name__in=missing).values_list("name", "pk"))
    return found


@audited("resource_class.create", ResourceClass, by="name", key="name")
def resource_class_ensure(name: str) -> bool:
    """Make the custom class `name`; False when there is one already. Raises Invalid when it is not a custom name."""
    _check_custom(name, field="name")
    return ResourceClass.objects.get_or_create(name=name)[1]


@audited("resource_class.rename", ResourceClass, by="name", key="name", also=("new_name",))
def resource_class_rename(name: str, new_name: str) -> None:
    """Give a custom class another name, which providers have from now on.

    Raises NotFound, Invalid for standard classes and names that are not custom, Conflict when the name is taken.
    """
    _check_custom(new_name, field="name")
    try:
        in_transaction(lambda: _rename(name, new_name))
    except IntegrityError as error:
        raise Conflict(_("Resource class already exists: {new_name}", new_name=new_name), field="name") from error


def _rename(name: str, new_name: str) -> None:
    row = _find(ResourceClass, name)
    if is_standard_resource_class(name):
        raise Invalid(_("Cannot update standard resource class {name}", name=name), field="name")
    ResourceClass.objects.filter(pk=row.pk).update(name=new_name)
    providers_stamp(list(Inventory.objects.filter(resource_class=row).values_list("provider_id", flat=True)))


@audited("resource_class.delete", ResourceClass, by="name", key="name", is_apart=True)
def resource_class_delete(name: str) -> None:
    """Delete a custom class. Raises NotFound, Invalid for a standard class, Conflict while anybody has some of it."""
    in_use = _("Cannot delete resource class {name}. Class is in use in inventory.", name=name)

    def work() -> None:
        row = _find(ResourceClass, name)
        if is_standard_resource_class(name):
            raise Invalid(_("Cannot delete standard resource class {name}.", name=name), field="name")
        if any(model._default_manager.filter(resource_class=row).exists() for model in (Inventory, Allocation)):
            raise Conflict(in_use, field="name")
        row.delete()

    with _refused_in_use(in_use):
        in_transaction(work)


@audited("trait.create", Trait, by="name", key="name")
def trait_ensure(name: str) -> bool:
    """Make the custom trait `name`; False when there is one already. Raises Invalid when it is not a custom name.

    From now on it stays, whether a host reports it or not.
    """
    _check_custom(name, field="name")
    is_new = Trait.objects.get_or_create(name=name)[1]
    if not is_new:
        Trait.objects.filter(name=name, is_reported=True).update(is_reported=False)
    return is_new


@audited("trait.delete", Trait, by="name", key="name", is_apart=True)
def trait_delete(name: str) -> None:
    """Delete a custom trait. Raises NotFound, Invalid for a standard trait, Conflict while a provider has it."""
    in_use = _("The trait {name} is in use by a resource provider.", name=name)

    def work() -> None:
        row = _find(Trait, name)
        if is_standard_trait(name):
            raise Invalid(_("Cannot delete standard trait {name}.", name=name), field="name")
        if ProviderTrait.objects.filter(trait=row).exists():
            raise Conflict(in_use, field="name")
        row.delete()

    with _refused_in_use(in_use):
        in_transaction(work)


def _check_custom(name: str, *, field: str) -> None:
    if not is_custom(name):
        raise Invalid(
            _("{name} is not a custom name: CUSTOM_, then capital letters, digits and _.", name=name), field=field
        )


def _find(model: type[M], name: str) -> M:
    row = model._default_manager.select_for_update().filter(name=name).first()
    if row is None:
        raise NotFound(_("There is no {model_name} {name}.", model_name=model_name(model), name=name), name=name)
    return row


@contextmanager
def _refused_in_use(in_use: str) -> Iterator[None]:
    """Somebody began to use the name between our read and the end of the transaction: the foreign key says so."""
    try:
        yield
    except IntegrityError as error:
        raise Conflict(in_use, field="name") from error
