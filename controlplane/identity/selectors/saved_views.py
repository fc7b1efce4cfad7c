"""Saved views that a caller sees: the own ones, and those that are shared."""

import uuid

from django.db.models import Q, QuerySet

from controlplane.identity.domain import Caller
from controlplane.identity.domain.saved_view import Sharing
from controlplane.identity.models import SavedView
from controlplane.kernel.errors import NotFound
from controlplane.kernel.texts import phrase as _

OFFERED = 100
"""How many views a list's menu offers."""


def saved_views_visible(*, caller: Caller) -> QuerySet[SavedView]:
    """Own ones, those shared in the caller's project, and those for everybody."""
    shared = Q(sharing=Sharing.ALL.value) | Q(sharing=Sharing.PROJECT.value, project_id=caller.project_id)
    return SavedView.objects.select_related("user").filter(Q(user_id=caller.user_id) | shared)


def saved_views_of(*, caller: Caller, list_name: str) -> list[SavedView]:
    """What the menu of a list offers, by name; own ones first. One query."""
    rows = saved_views_visible(caller=caller).filter(list=list_name).order_by("name", "id")[:OFFERED]
    return sorted(rows, key=lambda one: one.user_id != caller.user_id)


def saved_view_get(*, caller: Caller, view_id: uuid.UUID) -> SavedView:
    """One that the caller sees. Raises NotFound."""
    found = saved_views_visible(caller=caller).filter(pk=view_id).first()
    if found is None:
        raise NotFound(_("View {view_id} does not exist.", view_id=view_id))
    return found
