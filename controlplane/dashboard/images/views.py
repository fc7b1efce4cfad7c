"""Pages of images: lists, one image, its form, what can be done to it."""

import uuid
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_safe

from controlplane.dashboard.bulk_jobs.bar import bulk_list_response
from controlplane.dashboard.catalog.extra_specs import SpecRow, hint_number, pair_problems, posted_pairs
from controlplane.dashboard.form_errors import errors_add, reasons_by_field
from controlplane.dashboard.images.forms import ImagePageForm
from controlplane.dashboard.images.listing import IMAGES, is_moving
from controlplane.dashboard.images.properties import FIELD, PROPERTIES_OFFERED, property_row, property_rows
from controlplane.dashboard.pages import LONGEST_FILTER, is_htmx, page, show
from controlplane.identity.domain import Caller
from controlplane.identity.policy import allows
from controlplane.identity.selectors import project_list
from controlplane.identity.selectors.people import OFFERED
from controlplane.kernel.errors import InvalidFields, KilonovaError, NotFound
from servers.bulk.domain import BulkKind
from servers.catalog.selectors.quota import quota_state
from servers.images.domain.image_disks import has_root_of_its_own, image_disks
from servers.images.domain.images import OPEN_TASK_STATES, ImageStatus, Visibility
from servers.images.domain.remote_sources import url_without_query
from servers.images.selectors import image_get, image_members, images_offered
from servers.images.services.image import CHANGEABLE, image_create, image_update
from servers.images.services.image_import import image_create_by_import
from servers.images.services.well_known import well_known_images
from servers.instances.selectors.instances import instances_visible

OFFERS_SHOWN = 50
INSTANCES_SHOWN = 25
SECTION = "images"
WITHOUT_BYTES = (ImageStatus.QUEUED.value, ImageStatus.KILLED.value)
FORM_FIELDS = {"url": "import_url", "checksum": "import_checksum", "checksum_url": "import_checksum_url"}


@require_safe
@page("images:read")
def image_list(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """What the project has and may use; and what others offer it."""
    offered = list(images_offered(caller=caller)[:OFFERS_SHOWN])
    return bulk_list_response(request, caller, IMAGES, BulkKind.IMAGE, offered=offered)


@require_safe
@page("images:read")
def image_detail(request: HttpRequest, caller: Caller, image_id: uuid.UUID) -> HttpResponse:
    """One image: where its bytes are, what it asks for, with whom it is shared, which instances were made of it."""
    image = image_get(caller=caller, image_id=image_id)
    task = getattr(image, "task", None)
    made = instances_visible(caller=caller, all_projects=caller.is_admin).filter(image_id=image.pk)
    may_change = allows(caller, "images:write") and (caller.is_admin or image.project_id == caller.own_project_id)
    members = image_members(caller=caller, image=image)
    context = {
        "image": image,
        "task": task,
        "source_url": url_without_query(task.source_url) if task else "",
        "is_open": task is not None and task.state in OPEN_TASK_STATES,
        "is_live": is_moving(image),
        "may_change": may_change,
        "may_send": may_change
        and image.status in WITHOUT_BYTES
        and not (task and task.state in OPEN_TASK_STATES)
        and not has_root_of_its_own(image.properties),
        "disks": image_disks(image.properties)[0],
        "properties": [property_row(key, value) for key, value in sorted(image.properties.items())],
        "members": members,
        "projects_offered": project_list()[:OFFERED] if allows(caller, "projects:read") else (),
        "mine": next((one for one in members if one.project_id == caller.own_project_id), None),
        "instances": list(made.order_by("-created_at")[:INSTANCES_SHOWN]),
        "instances_count": made.count(),
    }
    template = "dashboard/images/image_live.html" if is_htmx(request) else "dashboard/images/image_detail.html"
    return show(request, caller, template, SECTION, **context)


@require_safe
@page("images:read")
def image_catalogue(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Well-known images, each copied by one click."""
    context = {"images": well_known_images(), "may_publish": allows(caller, "images:publish")}
    return show(request, caller, "dashboard/images/image_catalogue.html", SECTION, **context)


@require_http_methods(["GET", "HEAD", "POST"])
@page("images:write")
def image_new(request: HttpRequest, caller: Caller) -> HttpResponse:
    """The form of a new image: its record, and where its bytes come from."""
    if request.method != "POST":
        return _form_shown(request, caller, _form(caller, None), [])
    return _submitted(request, caller, None)


@require_http_methods(["GET", "HEAD", "POST"])
@page("images:write")
def image_edit(request: HttpRequest, caller: Caller, image_id: uuid.UUID) -> HttpResponse:
    """The same form for one that exists. What runs keeps its snapshot."""
    image = image_get(caller=caller, image_id=image_id)
    if request.method != "POST":
        initial = {name: getattr(image, name) for name in CHANGEABLE - {FIELD}}
        return _form_shown(
            request, caller, _form(caller, image, initial=initial), sorted(image.properties.items()), image
        )
    return _submitted(request, caller, image)


@require_safe
@page("images:write")
def property_hint(request: HttpRequest, caller: Caller) -> HttpResponse:
    """What is known of one property, for the row of the editor that asks."""
    key, value = (request.GET.get(name, "").strip()[:LONGEST_FILTER] for name in ("spec_key", "spec_value"))
    return show(
        request,
        caller,
        "dashboard/catalog/spec_hint.html",
        SECTION,
        row=property_row(key, value),
        number=hint_number(request),
    )


def _form(caller: Caller, image: Any, *args: Any, **kwargs: Any) -> ImagePageForm:
    has_bytes = image is not None and image.status not in WITHOUT_BYTES
    may_publish = allows(caller, "images:publish") or (image is not None and image.visibility == Visibility.PUBLIC)
    return ImagePageForm(*args, may_publish=may_publish, is_new=image is None, has_bytes=has_bytes, **kwargs)


def _submitted(request: HttpRequest, caller: Caller, image: Any) -> HttpResponse:
    """Save, or show the form again with each refusal at its field and its row; "more rows" saves nothing."""
    form, pairs = _form(caller, image, request.POST), posted_pairs(request.POST)
    if "more" in request.POST:
        again = _form(caller, image, initial=request.POST.dict())
        return _form_shown(request, caller, again, pairs, image, is_longer=True)
    problems = {key.replace("extra_specs", FIELD, 1): texts for key, texts in pair_problems(pairs).items()}
    if not form.is_valid() or problems:
        return _form_shown(request, caller, form, pairs, image, problems=problems)
    fields = form.cleaned_data | {FIELD: dict(pairs)}
    try:
        saved = _saved(caller, image, fields)
    except NotFound:
        raise
    except KilonovaError as error:
        found = reasons_by_field(error)
        at_rows = {field: reasons for field, reasons in found.items() if field.startswith(FIELD)}
        if others := {field: reasons for field, reasons in found.items() if field not in at_rows}:
            errors_add(form, InvalidFields(others), FORM_FIELDS)
        return _form_shown(request, caller, form, pairs, image, problems=at_rows)
    text = gettext("%(name)s was changed.") if image else gettext("%(name)s was created.")
    messages.success(request, text % {"name": saved.name}, extra_tags="good")
    return redirect("image", image_id=saved.pk)


def _saved(caller: Caller, image: Any, fields: dict[str, Any]) -> Any:
    url, checksum, checksum_url = (fields.pop(name, "") for name in ImagePageForm.OF_IMPORT)
    if image is not None:
        return image_update(caller=caller, image_id=image.pk, changes=fields)
    if url:
        return image_create_by_import(caller=caller, url=url, checksum=checksum, checksum_url=checksum_url, **fields)
    if checksum or checksum_url:
        raise InvalidFields({"url": [gettext("Name the URL that the checksum is of.")]})
    return image_create(caller=caller, **fields)


def _form_shown(
    request: HttpRequest,
    caller: Caller,
    form: ImagePageForm,
    pairs: list[tuple[str, str]],
    image: Any = None,
    *,
    problems: dict[str, list[str]] | None = None,
    is_longer: bool = False,
) -> HttpResponse:
    wrong = problems or {}
    at_rows = {f"{FIELD}.{key}" for key, _ in pairs}
    rows = property_rows(pairs, wrong)
    context = {
        "form": form,
        "image": image,
        "rows": [*rows, SpecRow(), SpecRow()] if is_longer else rows,
        "is_wrong": bool(form.errors or wrong),
        "row_errors": [text for field, texts in wrong.items() if field not in at_rows for text in texts],
        "keys": PROPERTIES_OFFERED,
        "quota": quota_state(project_id=caller.project_id) if image is None else None,
    }
    return show(request, caller, "dashboard/images/image_form.html", SECTION, **context)
