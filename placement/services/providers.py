"""Resource providers come, change their name or place, and go."""

from uuid import UUID

from django.db import IntegrityError

from controlplane.kernel.errors import Conflict, Invalid, NotFound
from placement.domain import ProviderKind, ProviderView
from placement.models import (
    Allocation,
    ChangeStamp,
    Inventory,
    ProviderAggregate,
    ProviderRemoval,
    ProviderTrait,
    ResourceProvider,
)
from placement.selectors.providers import provider_find, provider_get
from placement.services.locks import provider_lock, providers_stamp
from placement.services.transactions import in_transaction


def provider_ensure(
    uuid: UUID, name: str, parent_uuid: UUID | None = None, *, kind: ProviderKind = ProviderKind.COMPUTE
) -> ProviderView:
    """The provider with this name, kind and parent, made or changed as needed; no write when it is so already.

    Raises Conflict (field `name`) when another provider has the name, Invalid for a parent that does not exist or
    that lies below the provider itself.
    """
    present = provider_find(uuid)
    if present is not None and (present.name, present.parent_uuid, present.kind) == (name, parent_uuid, kind):
        return present
    try:
        in_transaction(lambda: _write(uuid, name, parent_uuid, kind))
    except IntegrityError as error:
        if ResourceProvider.objects.filter(name=name).exclude(uuid=uuid).exists():
            raise Conflict(f"Another resource provider is named {name!r}.", field="name") from error
        # Another process made the same provider a moment before us: now it is there to be changed.
        in_transaction(lambda: _write(uuid, name, parent_uuid, kind))
    return provider_get(uuid)


def _write(uuid: UUID, name: str, parent_uuid: UUID | None, kind: ProviderKind) -> None:
    parent = _parent(uuid, parent_uuid)
    row = ResourceProvider.objects.select_for_update(no_key=True).filter(uuid=uuid).first()
    if row is None:
        row = ResourceProvider.objects.create(uuid=uuid, name=name, kind=kind, parent=parent, changed=ChangeStamp())
        ResourceProvider.objects.filter(pk=row.pk).update(root_id=row.pk if parent is None else parent.root_id)
        return
    if row.parent_id != (parent.pk if parent else None):
        _move_in_tree(row, parent)
    ResourceProvider.objects.filter(pk=row.pk).update(name=name, kind=kind)
    providers_stamp([row.pk])


def _parent(uuid: UUID, parent_uuid: UUID | None) -> ResourceProvider | None:
    if parent_uuid is None:
        return None
    parent = ResourceProvider.objects.filter(uuid=parent_uuid).first()
    if parent is None or parent_uuid == uuid:
        raise Invalid(f"{parent_uuid} cannot be the parent: no such provider.", field="parent_uuid")
    return parent


def _move_in_tree(row: ResourceProvider, parent: ResourceProvider | None) -> None:
    """Hang `row`, with all that is below it, under `parent` (or make it a root)."""
    below = _subtree_ids(row)
    if parent is not None and parent.pk in below:
        raise Invalid(f"{parent.uuid} lies below {row.uuid}: a tree has no loops.", field="parent_uuid")
    ResourceProvider.objects.filter(pk=row.pk).update(parent=parent)
    ResourceProvider.objects.filter(pk__in=below).update(root_id=row.pk if parent is None else parent.root_id)
    providers_stamp(below)


def _subtree_ids(row: ResourceProvider) -> set[int]:
    """The provider and its descendants; one query for the whole tree."""
    parents = dict(ResourceProvider.objects.filter(root_id=row.root_id).values_list("pk", "parent_id"))
    below = {row.pk}
    while more := {pk for pk, parent in parents.items() if parent in below} - below:
        below |= more
    return below


def provider_delete(provider_uuid: UUID) -> bool:
    """Delete a provider with its inventories, traits and aggregates. False when there was none.

    Raises Conflict while it has children or while anybody holds allocations of it.
    """
    return in_transaction(lambda: _delete(provider_uuid))


def _delete(provider_uuid: UUID) -> bool:
    try:
        provider = provider_lock(provider_uuid)
    except NotFound:
        return False
    children = ResourceProvider.objects.filter(parent=provider).count()
    if children:
        raise Conflict(f"Resource provider {provider.name} has {children} children.", children=children)
    consumers = Allocation.objects.filter(provider=provider).values("consumer").distinct().count()
    if consumers:
        raise Conflict(f"{consumers} consumers hold allocations of {provider.name}.", consumers=consumers)
    for model in (Inventory, ProviderTrait, ProviderAggregate):
        model._default_manager.filter(provider=provider).delete()
    ProviderRemoval.objects.create(provider_uuid=provider_uuid, changed=ChangeStamp())
    # Its root points to itself; the pointer goes first, or PROTECT keeps the row.
    ResourceProvider.objects.filter(pk=provider.pk).update(root=None)
    ResourceProvider.objects.filter(pk=provider.pk).delete()
    return True
