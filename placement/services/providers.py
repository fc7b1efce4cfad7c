"""Resource providers come, change their name or place, and go."""

from enum import Enum
from typing import Final
from uuid import UUID

from django.db import IntegrityError

from controlplane.audit_log.recording.audited import audited
from controlplane.infra.db import in_transaction
from controlplane.kernel.errors import Invalid, NotFound
from controlplane.kernel.texts import phrase as _
from placement.domain import ProviderKind, ProviderView
from placement.domain.provider_errors import (
    ParentRefused,
    ParentRule,
    ProviderHasChildren,
    ProviderInUse,
    ProviderTaken,
    parent_refused,
    provider_taken,
)
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
from placement.services.names import reported_traits_forget
from placement.services.trees import provider_place, trees_lock


class Unchanged(Enum):
    """The type of UNCHANGED alone."""

    UNCHANGED = "unchanged"


UNCHANGED: Final = Unchanged.UNCHANGED
"""In place of a parent: leave the provider where it is."""


def provider_ensure(
    uuid: UUID, name: str, parent_uuid: UUID | None = None, *, kind: ProviderKind = ProviderKind.COMPUTE
) -> ProviderView:
    """The provider with this name, kind and parent, made or changed as needed; no write when it is so already.

    Raises ProviderTaken (field `name`) when another provider has the name, ParentRefused for a parent that does not
    exist or that lies below the provider itself.
    """
    present = provider_find(uuid)
    if present is not None and (present.name, present.parent_uuid, present.kind) == (name, parent_uuid, kind):
        return present
    try:
        in_transaction(lambda: _ensure(uuid, name, parent_uuid, kind))
    except IntegrityError as error:
        if ResourceProvider.objects.filter(name=name).exclude(uuid=uuid).exists():
            raise provider_taken({"name": name}) from error
        # Another process made the same provider a moment before us: now it is there to be changed.
        in_transaction(lambda: _ensure(uuid, name, parent_uuid, kind))
    return provider_get(uuid)


def _ensure(uuid: UUID, name: str, parent_uuid: UUID | None, kind: ProviderKind) -> None:
    if not ResourceProvider.objects.filter(uuid=uuid).exists():
        _insert(uuid, name, parent_uuid, kind)
        return
    _change(uuid, name, parent_uuid, may_move=True)
    ResourceProvider.objects.filter(uuid=uuid).update(kind=kind)


@audited("provider.create", ResourceProvider, by="uuid", key="uuid")
def provider_create(
    uuid: UUID, name: str, parent_uuid: UUID | None = None, *, kind: ProviderKind = ProviderKind.OTHER
) -> ProviderView:
    """A new provider. Raises ProviderTaken when its name or uuid is taken, ParentRefused, Invalid without a name."""
    _check_name(name)
    try:
        in_transaction(lambda: _insert(uuid, name, parent_uuid, kind))
    except IntegrityError as error:
        raise _taken(uuid, name) or _parent_gone(uuid, parent_uuid) from error
    return provider_get(uuid)


def _check_name(name: str) -> None:
    if not name:
        raise Invalid(_("A resource provider has a name: name is required."), field="name")


def _taken(uuid: UUID | None, name: str) -> ProviderTaken | None:
    taken = {}
    if uuid is not None and ResourceProvider.objects.filter(uuid=uuid).exists():
        taken["uuid"] = str(uuid)
    if ResourceProvider.objects.filter(name=name).exists():
        taken["name"] = name
    return provider_taken(taken) if taken else None


def _parent_gone(uuid: UUID, parent_uuid: UUID | None) -> ParentRefused:
    """The parent was deleted between our read and the end of the transaction."""
    return parent_refused(ParentRule.UNKNOWN, provider_uuid=uuid, parent_uuid=parent_uuid)


def _insert(uuid: UUID, name: str, parent_uuid: UUID | None, kind: ProviderKind) -> None:
    if parent_uuid == uuid:
        raise parent_refused(ParentRule.ITSELF, provider_uuid=uuid, parent_uuid=parent_uuid)
    parent = None if parent_uuid is None else trees_lock({parent_uuid}).get(parent_uuid)
    if parent_uuid is not None and parent is None:
        raise _parent_gone(uuid, parent_uuid)
    row = ResourceProvider.objects.create(uuid=uuid, name=name, kind=kind, parent=parent, changed=ChangeStamp())
    ResourceProvider.objects.filter(pk=row.pk).update(root_id=row.pk if parent is None else parent.root_id)


@audited("provider.update", ResourceProvider, by="provider_uuid", key="uuid")
def provider_update(
    provider_uuid: UUID, *, name: str, parent_uuid: UUID | Unchanged | None = UNCHANGED, may_move: bool = True
) -> ProviderView:
    """Rename a provider, and hang it elsewhere with all that is below it (None: it becomes a root).

    Without `may_move` a parent can be set once and stays (clients below microversion 1.37). The generation stays:
    it counts changes of inventories, traits, aggregates and allocations.

    Raises NotFound, ProviderTaken, ParentRefused, Invalid without a name.
    """
    _check_name(name)
    try:
        in_transaction(lambda: _change(provider_uuid, name, parent_uuid, may_move=may_move))
    except IntegrityError as error:
        raise _taken(None, name) or _parent_gone(provider_uuid, _named(parent_uuid)) from error
    return provider_get(provider_uuid)


def _named(parent_uuid: UUID | Unchanged | None) -> UUID | None:
    return parent_uuid if isinstance(parent_uuid, UUID) else None


def _change(uuid: UUID, name: str, parent_uuid: UUID | Unchanged | None, *, may_move: bool) -> None:
    row = provider_lock(uuid) if isinstance(parent_uuid, Unchanged) else _hang(uuid, parent_uuid, may_move=may_move)
    ResourceProvider.objects.filter(pk=row.pk).update(name=name)
    providers_stamp([row.pk])


def _hang(uuid: UUID, parent_uuid: UUID | None, *, may_move: bool) -> ResourceProvider:
    found = trees_lock({uuid} if parent_uuid is None else {uuid, parent_uuid})
    row = found.get(uuid)
    if row is None:
        raise NotFound(_("There is no resource provider {uuid}.", uuid=uuid), provider_uuid=uuid)
    parent = None if parent_uuid is None else found.get(parent_uuid)
    if parent_uuid is not None and parent is None:
        raise parent_refused(ParentRule.UNKNOWN, provider_uuid=uuid, parent_uuid=parent_uuid)
    if row.parent_id != (None if parent is None else parent.pk):
        if row.parent_id is not None and not may_move:
            rule = ParentRule.DETACH if parent is None else ParentRule.MOVE
            raise parent_refused(rule, provider_uuid=uuid, parent_uuid=parent_uuid)
        provider_place(row, parent)
    return row


@audited("provider.delete", ResourceProvider, by="provider_uuid", key="uuid", is_apart=True)
def provider_delete(provider_uuid: UUID) -> bool:
    """Delete a provider with its inventories, traits and aggregates. False when there was none.

    Raises ProviderHasChildren, and ProviderInUse while anybody holds allocations of it.
    """
    try:
        return in_transaction(lambda: _delete(provider_uuid))
    except IntegrityError as error:
        # A child, or allocations, came between our read and the end of the transaction.
        raise ProviderInUse(
            _("Resource provider {provider_uuid} is in use since just now.", provider_uuid=provider_uuid)
        ) from error


def _delete(provider_uuid: UUID) -> bool:
    try:
        provider = provider_lock(provider_uuid)
    except NotFound:
        return False
    children = ResourceProvider.objects.filter(parent=provider).count()
    if children:
        raise ProviderHasChildren(
            _("Resource provider {provider} has {children} children.", provider=provider.name, children=children),
            children=children,
        )
    consumers = Allocation.objects.filter(provider=provider).values("consumer").distinct().count()
    if consumers:
        raise ProviderInUse(
            _("{consumers} consumers hold allocations of {provider}.", consumers=consumers, provider=provider.name),
            consumers=consumers,
        )
    traits = list(ProviderTrait.objects.filter(provider=provider).values_list("trait__name", flat=True))
    for model in (Inventory, ProviderTrait, ProviderAggregate):
        model._default_manager.filter(provider=provider).delete()
    reported_traits_forget(traits)
    ProviderRemoval.objects.create(provider_uuid=provider_uuid, changed=ChangeStamp())
    # Its root points to itself; the pointer goes first, or PROTECT keeps the row.
    ResourceProvider.objects.filter(pk=provider.pk).update(root=None)
    ResourceProvider.objects.filter(pk=provider.pk).delete()
    return True


def provider_tree_delete(root_uuid: UUID) -> int:
    """Delete a provider with all that is below it: how many there were. All of them, or none.

    Raises ProviderInUse while anybody holds allocations of one of them.
    """

    def work() -> int:
        row = ResourceProvider.objects.select_for_update(no_key=True).filter(uuid=root_uuid).first()
        leaves_first = [] if row is None else _tree_of(row)[::-1]
        return sum(provider_delete(uuid) for uuid in leaves_first)

    return in_transaction(work)


def _tree_of(top: ResourceProvider) -> list[UUID]:
    """The provider and its descendants, every parent before its children. One query for each level of the tree."""
    found = {top.pk: top.uuid}
    level = [top.pk]
    while level:
        below = ResourceProvider.objects.filter(parent_id__in=level).exclude(pk__in=found).order_by("pk")
        children = dict(below.values_list("pk", "uuid"))
        found |= children
        level = list(children)
    return list(found.values())
