"""The pages of saved views: save what a list shows, and look after the own ones."""

import uuid
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from controlplane.dashboard.lists.query import address_with
from controlplane.dashboard.pages import page, show
from controlplane.identity.domain import Caller
from controlplane.identity.domain.saved_view import LISTS, Sharing
from controlplane.identity.policy import allows
from controlplane.identity.selectors.saved_views import saved_views_visible
from controlplane.identity.services.saved_views import (
    SavedViewFields,
    saved_view_create,
    saved_view_delete,
    saved_view_update,
)
from controlplane.infra.reader_texts import refusal_text
from controlplane.kernel.errors import KilonovaError
from controlplane.kernel.texts import gettext_noop

SHARING_WORDS = {
    Sharing.PRIVATE: gettext_noop("Only its owner"),
    Sharing.PROJECT: gettext_noop("Its project"),
    Sharing.ALL: gettext_noop("Everybody"),
}


@dataclass(frozen=True, slots=True)
class ViewRow:
    """A saved view, where it leads, and whether the caller may change it."""

    view: Any
    list_title: str
    address: str
    is_mine: bool
    may_change: bool


@require_safe
@page("saved_views:read")
def saved_view_list(request: HttpRequest, caller: Caller) -> HttpResponse:
    """The caller's own views, and those that are shared."""
    rows = [_row(caller, view) for view in saved_views_visible(caller=caller).order_by("list", "name", "id")]
    context = {
        "mine": [row for row in rows if row.is_mine],
        "others": [row for row in rows if not row.is_mine],
        "sharings": _sharings(caller),
    }
    return show(request, caller, "lists/saved_views.html", "views", **context)


@require_POST
@page("saved_views:write")
def saved_view_new(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Save what a list shows, and show it again as the view."""
    data = request.POST
    name = data.get("list", "")
    try:
        view = saved_view_create(
            caller=caller,
            list=name,
            name=data.get("name", ""),
            query=data.get("query", ""),
            sharing=data.get("sharing", Sharing.PRIVATE.value),
            is_default=data.get("is_default") == "true",
        )
    except KilonovaError as error:
        if name not in LISTS:
            raise
        messages.error(
            request, _("The view was not saved. %(reason)s") % {"reason": refusal_text(error)}, extra_tags="bad"
        )
        return redirect(address_with(LISTS[name].path, data.get("query", "")[:2000], view=""))
    messages.success(request, _("The view “%(name)s” is saved.") % {"name": view.name}, extra_tags="good")
    return redirect(address_with(LISTS[name].path, view.query, view=str(view.pk)))


@require_POST
@page("saved_views:write")
def saved_view_edit(request: HttpRequest, caller: Caller, view_id: uuid.UUID) -> HttpResponse:
    """Rename it, share it, make it the default one; or delete it."""
    data = request.POST
    try:
        if data.get("action") == "delete":
            saved_view_delete(caller=caller, view_id=view_id)
            notice = _("The view is deleted.")
        else:
            changes = SavedViewFields(name=data.get("name", ""), sharing=data.get("sharing", Sharing.PRIVATE.value))
            if "owner" in data:
                changes["is_default"] = data.get("is_default") == "true"
            view = saved_view_update(caller=caller, view_id=view_id, **changes)
            notice = _("The view “%(name)s” is changed.") % {"name": view.name}
    except KilonovaError as error:
        messages.error(request, refusal_text(error), extra_tags="bad")
    else:
        messages.success(request, notice, extra_tags="good")
    return redirect("saved-views")


def _row(caller: Caller, view: Any) -> ViewRow:
    place = LISTS[view.list]
    is_mine = view.user_id == caller.user_id
    return ViewRow(
        view=view,
        list_title=place.title,
        address=address_with(place.path, view.query, view=str(view.pk)),
        is_mine=is_mine,
        may_change=is_mine or caller.is_admin,
    )


def _sharings(caller: Caller) -> list[tuple[str, str]]:
    offered = [Sharing.PRIVATE]
    if allows(caller, "saved_views:share"):
        offered.append(Sharing.PROJECT)
    if allows(caller, "saved_views:share_all"):
        offered.append(Sharing.ALL)
    return [(one.value, SHARING_WORDS[one]) for one in offered]
