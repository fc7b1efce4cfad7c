"""What buttons of the pages of images do."""

import uuid
from collections.abc import Callable

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from controlplane.dashboard.pages import page
from controlplane.identity.domain import Caller
from controlplane.identity.policy import allows, require
from controlplane.identity.selectors import project_id_called
from controlplane.infra.reader_texts import refusal_text
from controlplane.kernel.errors import KilonovaError, NotFound
from controlplane.kernel.ids import parse_uuid
from servers.images.domain.images import Visibility
from servers.images.selectors import image_get
from servers.images.services.image import image_deactivate, image_reactivate
from servers.images.services.image_import import image_import
from servers.images.services.image_members import image_member_add, image_member_answer, image_member_remove
from servers.images.services.image_store import image_delete
from servers.images.services.image_tasks import image_task_cancel
from servers.images.services.well_known import well_known_copy


@require_POST
@page("images:write")
def image_delete_view(request: HttpRequest, caller: Caller, image_id: uuid.UUID) -> HttpResponse:
    """Delete record and bytes."""
    image = image_get(caller=caller, image_id=image_id)
    image_delete(caller=caller, image_id=image_id)
    text = _("%(name)s was deleted. Instances made of it keep their disks.") % {"name": image.name}
    messages.success(request, text, extra_tags="good")
    return redirect("images")


@require_POST
@page("images:write")
def image_copy_view(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Copy a well-known image; an admin may do it for everybody."""
    visibility = Visibility.PUBLIC if request.POST.get("public") else Visibility.PRIVATE
    image = well_known_copy(caller=caller, key=request.POST.get("key", ""), visibility=visibility.value)
    messages.success(request, _("%(name)s is being fetched.") % {"name": image.name}, extra_tags="good")
    return redirect("image", image_id=image.pk)


@require_POST
@page("images:write")
def image_act_view(request: HttpRequest, caller: Caller, image_id: uuid.UUID) -> HttpResponse:
    """One of ACTS. A refusal is shown on the image's own page, where it was asked for."""
    name = request.POST.get("act", "")
    if name not in ACTS:
        raise NotFound(_("There is no %(name)s of an image.") % {"name": name[:40]})
    try:
        said = ACTS[name](request, caller, image_id)
        messages.success(request, said, extra_tags="good")
    except KilonovaError as error:
        if isinstance(error, NotFound) and error.field is None:
            raise
        messages.error(request, refusal_text(error), extra_tags="bad")
    return redirect("image", image_id=image_id)


def _import(request: HttpRequest, caller: Caller, image_id: uuid.UUID) -> str:
    url, checksum = (request.POST.get(name, "").strip() for name in ("url", "checksum"))
    image_import(caller=caller, image_id=image_id, url=url, checksum=checksum)
    return _("The import is under way.")


def _cancel(_request: HttpRequest, caller: Caller, image_id: uuid.UUID) -> str:
    image_task_cancel(caller=caller, image_id=image_id)
    return _("It was ended. The image may get its bytes again.")


def _member_add(request: HttpRequest, caller: Caller, image_id: uuid.UUID) -> str:
    image_member_add(caller=caller, image_id=image_id, project_id=_project(request, caller))
    return _("Shared. It is in the project's lists once it accepts.")


def _member_remove(request: HttpRequest, caller: Caller, image_id: uuid.UUID) -> str:
    image_member_remove(caller=caller, image_id=image_id, project_id=_project(request, caller))
    return _("It is shared with that project no longer.")


def _answer(request: HttpRequest, caller: Caller, image_id: uuid.UUID) -> str:
    status = request.POST.get("status", "")
    image_member_answer(caller=caller, image_id=image_id, project_id=caller.project_id, status=status)
    return _("Your project's answer: %(status)s.") % {"status": _(status) if status else ""}


def _deactivate(_request: HttpRequest, caller: Caller, image_id: uuid.UUID) -> str:
    require(caller, "images:publish")
    image_deactivate(image_id=image_id)
    return _("No new instances are made of it. Those that run go on.")


def _reactivate(_request: HttpRequest, caller: Caller, image_id: uuid.UUID) -> str:
    require(caller, "images:publish")
    image_reactivate(image_id=image_id)
    return _("Instances can be made of it again.")


def _project(request: HttpRequest, caller: Caller) -> uuid.UUID:
    """By its id; by its name only for who may see all projects, so that nobody finds out which there are."""
    named = request.POST.get("project", "").strip()
    if allows(caller, "projects:read"):
        return project_id_called(named)
    found = parse_uuid(named)
    if found is None:
        raise KilonovaError(_("A project is named by its id, such as 6c07f5cc-7ae1-4f2e-8b6f-6ffbb5f2a2d0."))
    return found


ACTS: dict[str, Callable[[HttpRequest, Caller, uuid.UUID], str]] = {
    "import": _import,
    "cancel": _cancel,
    "member-add": _member_add,
    "member-remove": _member_remove,
    "answer": _answer,
    "deactivate": _deactivate,
    "reactivate": _reactivate,
}
