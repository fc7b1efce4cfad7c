"""A provider's place in its tree. Who changes the shape of a tree locks all of it first, and then reads it.

Two moves at a time could otherwise each see a tree without the other's change, and together close a loop.
"""

from collections.abc import Mapping
from uuid import UUID

from django.db import connection

from placement.domain.provider_errors import ParentRule, parent_refused
from placement.models import ResourceProvider
from placement.services.locks import providers_stamp

Shape = Mapping[int, int | None]


def trees_lock(provider_uuids: set[UUID]) -> dict[UUID, ResourceProvider]:
    """Lock the whole trees of these providers, in the order of ids; the providers as they are then.

    While it waits for a lock, a provider may go to another tree: then that one is locked too. Providers that do not
    exist are left out.
    """
    locked: set[int] = set()
    while True:
        found = {row.uuid: row for row in ResourceProvider.objects.filter(uuid__in=provider_uuids)}
        roots = {row.root_id or row.pk for row in found.values()}
        if roots <= locked or not connection.features.has_select_for_update:
            return found
        rows = ResourceProvider.objects.filter(root_id__in=roots).order_by("pk")
        list(rows.select_for_update(no_key=True).values_list("pk"))
        locked |= roots


def provider_place(row: ResourceProvider, parent: ResourceProvider | None) -> None:
    """Hang `row`, with all that is below it, under `parent`, or make it a root. Both trees are locked already.

    Raises ParentRefused for a parent that is the provider itself or lies below it.
    """
    below = _subtree(row)
    if parent is not None and parent.pk in below:
        raise parent_refused(ParentRule.LOOP, provider_uuid=row.uuid, parent_uuid=parent.uuid)
    ResourceProvider.objects.filter(pk=row.pk).update(parent=parent)
    ResourceProvider.objects.filter(pk__in=below).update(root_id=row.pk if parent is None else parent.root_id)
    providers_stamp(below)


def _subtree(row: ResourceProvider) -> set[int]:
    """The provider and its descendants; one query for the whole tree."""
    parents: Shape = dict(ResourceProvider.objects.filter(root_id=row.root_id).values_list("pk", "parent_id"))
    below = {row.pk}
    while more := {pk for pk, parent in parents.items() if parent in below} - below:
        below |= more
    return below
