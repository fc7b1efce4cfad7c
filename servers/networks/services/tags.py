"""Tags are put on what networks are made of, and taken off, here."""

import uuid
from collections.abc import Callable, Collection, Set
from typing import TypeVar

from django.db.models import Model
from django.db.models.functions import Now

from controlplane.audit_log.recording.audited import audited
from controlplane.audit_log.recording.record import AuditChange, change_record, target_of
from controlplane.identity.domain import Caller
from controlplane.infra.db import in_transaction
from controlplane.kernel.texts import phrase as _
from servers.fields import refuse_if
from servers.networks.domain.errors import TagNotFound
from servers.networks.domain.tags import tags_reasons
from servers.networks.selectors.tags import TaggedKind, own_tags_require, tagged_get, tagged_visible

ROW = TypeVar("ROW", bound=Model)
TAGS_CHANGE = "{kind}.tags_change"


@audited(TAGS_CHANGE, by="resource_id", by_itself=True)
def tags_change(
    *, caller: Caller | None, kind: TaggedKind, resource_id: uuid.UUID, change: Callable[[Set[str]], Set[str]]
) -> list[str]:
    """Give it the tags that `change` makes of those that it has, while nobody else changes them; returned sorted.

    Who sees it and does not own it changes none. Raises the NotFound of its kind, Forbidden, InvalidFields.
    """

    def work() -> list[str]:
        rows = tagged_visible(caller, kind).select_for_update(of=("self",), no_key=True)
        row = tagged_get(rows, kind, resource_id)
        own_tags_require(caller, row)
        wanted = sorted(change(frozenset(row.tags)))
        refuse_if({"tags": tags_reasons(wanted)})
        if wanted != row.tags:
            type(row)._default_manager.filter(pk=row.pk).update(tags=wanted, updated_at=Now())
            change_record(
                AuditChange(TAGS_CHANGE.format(kind=kind), target_of(kind, row), {"tags": row.tags}, {"tags": wanted}),
                of=TAGS_CHANGE,
            )
        return wanted

    return in_transaction(work)


def tags_replace(
    *, caller: Caller | None, kind: TaggedKind, resource_id: uuid.UUID, tags: Collection[str]
) -> list[str]:
    """These tags, and no others. Raises as `tags_change`."""
    wanted = frozenset(tags)
    return tags_change(caller=caller, kind=kind, resource_id=resource_id, change=lambda _before: wanted)


def tag_add(*, caller: Caller | None, kind: TaggedKind, resource_id: uuid.UUID, tag: str) -> list[str]:
    """One more tag, or none if it is there. Raises as `tags_change`."""
    return tags_change(caller=caller, kind=kind, resource_id=resource_id, change=lambda before: before | {tag})


def tag_remove(*, caller: Caller | None, kind: TaggedKind, resource_id: uuid.UUID, tag: str) -> list[str]:
    """One tag less. Raises TagNotFound where it has none such, and as `tags_change`."""

    def without(before: Set[str]) -> Set[str]:
        if tag not in before:
            raise TagNotFound(_("Tag {tag} could not be found.", tag=tag[:80]))
        return before - {tag}

    return tags_change(caller=caller, kind=kind, resource_id=resource_id, change=without)


def with_tags(
    *, caller: Caller | None, kind: TaggedKind, tags: Collection[str] | None, write: Callable[[], ROW]
) -> ROW:
    """Let `write` make or change a row of this kind and put these tags on it, or neither. None: its tags stay.

    The row is returned as `write` gave it, with the tags. Raises what `write` raises, and as `tags_change`.
    """

    def work() -> ROW:
        row = write()
        if tags is not None:
            tags_replace(caller=caller, kind=kind, resource_id=row.pk, tags=tags)
            row.refresh_from_db(fields=["tags", "updated_at"])
        return row

    return in_transaction(work)
