"""Saved views: made, changed and deleted by their owner; an admin may change and delete what is shared."""

import uuid
from typing import TypedDict, Unpack

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from controlplane.audit_log.recording.audited import audited
from controlplane.identity.domain import Caller
from controlplane.identity.domain.policy import require
from controlplane.identity.domain.saved_view import QUERY_MAX, Sharing, query_saved
from controlplane.identity.models import SavedView
from controlplane.identity.selectors.saved_views import saved_view_get
from controlplane.kernel.errors import Conflict, Forbidden, Invalid, InvalidFields
from controlplane.kernel.texts import phrase as _

MAX_VIEWS = 200
"""Of one user, all lists together."""


class SavedViewFields(TypedDict, total=False):
    """What a view says."""

    list: str
    name: str
    query: str
    sharing: str
    is_default: bool


@audited("saved_view.create", SavedView)
def saved_view_create(*, caller: Caller, **fields: Unpack[SavedViewFields]) -> SavedView:
    """A new view of the caller, in the caller's project; as a default view it takes the place of another one.

    Raises InvalidFields, Conflict for a name that is taken, Forbidden for sharing beyond the caller's role, and
    Invalid beyond MAX_VIEWS.
    """
    if SavedView.objects.filter(user_id=caller.user_id).count() >= MAX_VIEWS:
        raise Invalid(_("You have {max_views} views; delete one first.", max_views=MAX_VIEWS), field="name")
    return _save(caller, SavedView(user_id=caller.user_id, project_id=caller.project_id), fields)


@audited("saved_view.update", SavedView, by="view_id")
def saved_view_update(*, caller: Caller, view_id: uuid.UUID, **changes: Unpack[SavedViewFields]) -> SavedView:
    """Change what is given; the list stays. Raises NotFound, and what `saved_view_create` raises."""
    view = _changeable(caller, view_id)
    if "list" in changes and changes["list"] != view.list:
        raise Invalid(_("A view stays with its list."), field="list")
    if changes.get("is_default") and view.user_id != caller.user_id:
        raise Forbidden(_("Only its owner makes a view the default one."), field="is_default")
    return _save(caller, view, changes)


@audited("saved_view.delete", SavedView, by="view_id")
def saved_view_delete(*, caller: Caller, view_id: uuid.UUID) -> None:
    """Raises NotFound; Forbidden for somebody else's."""
    _changeable(caller, view_id).delete()


def _changeable(caller: Caller, view_id: uuid.UUID) -> SavedView:
    view = saved_view_get(caller=caller, view_id=view_id)
    if view.user_id != caller.user_id and not caller.is_admin:
        raise Forbidden(
            _("The view “{view}” belongs to {user}; only they and admins change it.", view=view.name, user=view.user)
        )
    return view


def _save(caller: Caller, view: SavedView, fields: SavedViewFields) -> SavedView:
    if "sharing" in fields and fields["sharing"] != view.sharing:
        _require_sharing(caller, fields["sharing"])
    for name, value in fields.items():
        setattr(view, name, value)
    view.name = view.name.strip()
    view.query = _query(view.query)
    try:
        view.full_clean(validate_unique=False, validate_constraints=False)
        with transaction.atomic():
            if view.is_default:
                others = SavedView.objects.filter(user_id=view.user_id, list=view.list, is_default=True)
                others.exclude(pk=view.pk).update(is_default=False)
            view.save()
    except ValidationError as error:
        raise InvalidFields(error.message_dict) from error
    except IntegrityError as error:
        raise Conflict(_("You have a view “{view}” for this list already.", view=view.name), field="name") from error
    return view


def _require_sharing(caller: Caller, sharing: str) -> None:
    if sharing == Sharing.PROJECT.value:
        require(caller, "saved_views:share")
    elif sharing == Sharing.ALL.value:
        require(caller, "saved_views:share_all")


def _query(text: str) -> str:
    if len(text) > QUERY_MAX:
        raise Invalid(_("A view's query has at most {query_max} characters.", query_max=QUERY_MAX), field="query")
    try:
        return query_saved(text)
    except ValueError as error:
        raise Invalid(
            _("This is not the query of an address, such as status=ERROR&sort=-name."), field="query"
        ) from error
