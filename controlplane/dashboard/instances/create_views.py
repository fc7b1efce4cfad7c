"""The page that creates instances: it answers while one types, tries, makes a key pair on the spot, and creates."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from controlplane.dashboard.form_errors import errors_add, reasons_by_field
from controlplane.dashboard.instances.action_toasts import batch_links
from controlplane.dashboard.instances.forms import InstanceForm, Offered
from controlplane.dashboard.pages import is_htmx, page, show
from controlplane.dashboard.simulate.trial import create_try, simulate_query
from controlplane.dashboard.toasts import toast
from controlplane.identity.domain import Caller
from controlplane.identity.policy import require
from controlplane.kernel.errors import KilonovaError, Throttled
from scheduling.fleet.selectors.zones import zone_list
from servers.catalog.selectors.flavor import flavors_visible
from servers.catalog.selectors.keypair import keypairs_of
from servers.catalog.selectors.quota import quota_state
from servers.catalog.selectors.server_group import server_groups_visible
from servers.catalog.services.keypair import keypair_create, keypair_generate
from servers.images.selectors import images_listed
from servers.images.services.certificates import certificates_visible
from servers.instances.domain.instance_create import InstanceCreate
from servers.instances.domain.user_data_check import user_data_findings
from servers.instances.services.create import instances_create
from servers.instances.services.nics import networks_usable
from servers.networks.selectors.groups import groups_visible
from servers.networks.selectors.ports import ports_unused
from servers.networks.services.groups import default_group_make
from servers.trials.create_answer import create_answer, flavors_without_room
from servers.volumes.selectors.volume_types import volume_types_visible
from servers.volumes.selectors.volumes import volumes_visible

MAX_NETWORKS = 100
"""That the form offers; the API takes any."""
# Where the service's names of fields differ from the form's.
FORM_FIELDS = {
    "block_device_mapping_v2": "boot_from",
    "config_drive": "without_config_drive",
    "count": "min_count",
}
# Of what a change of a dry run may say, the form's field.
APPLIED = {"flavor": "flavor", "availability_zone": "availability_zone", "count": "min_count"}
MANY = frozenset({"networks", "security_groups", "more_volumes", "trusted_image_certificates"})
"""Fields with several values."""
ROWS = ("interfaces", "personality")
"""Fields that are rows of inputs."""
# What a decision does not depend on; while only these change, there is nothing new to answer.
NOT_ASKED = frozenset(
    {"csrfmiddlewaretoken", "name", "tags", "description", "hostname", "admin_pass", "key_name", "disk_config"}
    | {"access_ip_v4", "access_ip_v6", "new_key_name", "new_public_key", "answered", "metadata", "protected", "nic_tag"}
)


@require_http_methods(["GET", "HEAD", "POST"])
@page("instances:create")
def instance_create(request: HttpRequest, caller: Caller) -> HttpResponse:
    """The form, with what is left of the quota; the service's refusals appear at their fields.

    Its other buttons create nothing: one tries, one takes over what would help and tries again, one adds a key pair,
    and some give more rows.
    """
    data: QueryDict | None = request.POST if request.method == "POST" else None
    if data is not None and "apply" in data:
        data = _applied(data)
    if data is not None and "try" in data:
        return _tried(request, caller, _form(caller, data, request.FILES))
    if data is not None and "add_key" in data:
        return _key_added(request, caller, data)
    if data is not None and "more" in data:
        form = _form(caller, data, request.FILES, is_unasked=True)
        form.opens = str(data["more"])
        return _shown(request, caller, form=form)
    form = _form(caller, data, request.FILES)
    if data is not None and form.is_valid():
        wanted = InstanceCreate(**form.wanted())
        try:
            made = instances_create(caller=caller, wanted=wanted)
        except KilonovaError as error:
            errors_add(form, error, FORM_FIELDS | {"networks": form.networks_at})
        else:
            toast(request, _requested(made, wanted.count_max), links=batch_links(made))
            return redirect("instance", instance_id=made[0].pk) if len(made) == 1 else redirect("instances")
    return _shown(request, caller, form=form.ready())


def _requested(made: Sequence[Any], count_max: int) -> str:
    if len(made) == 1:
        text = _("%(name)s requested.") % {"name": made[0].name}
    else:
        text = _("%(count)d instances, %(first)s to %(last)s, requested.")
        text %= {"count": len(made), "first": made[0].name, "last": made[-1].name}
    if len(made) == count_max:
        return text
    return f"{text} " + _("The quota allows no more; up to %(most)d were asked for.") % {"most": count_max}


@require_POST
@page("instances:create")
def instance_create_answer(request: HttpRequest, caller: Caller) -> HttpResponse:
    """What a create would come to now, for the form as it is: one decision, bounded for the project. Writes nothing.

    204 where only such fields changed since the last answer as no decision depends on.
    """
    digest = _digest(request.POST)
    if request.POST.get("answered") == digest:
        return HttpResponse(status=204)
    form = _form(caller, request.POST, is_trial=True, marks_flavors=False)
    context: dict[str, Any] = {"digest": digest, "findings": user_data_findings(form.user_data_typed)}
    if form.is_valid():
        try:
            context["answer"] = create_answer(caller=caller, wanted=InstanceCreate(**form.wanted()))
        except Throttled as error:
            context |= {"wait_s": max(2, int(error.extra.get("wait_s", 2))), "digest": ""}
        except KilonovaError as error:
            found = reasons_by_field(error)
            context["problems"] = [(_label(form, name), text) for name, texts in found.items() for text in texts]
    else:
        context["problems"] = [
            (_label(form, name), text) for name, texts in form.errors.items() if name != "user_data" for text in texts
        ]
    return show(request, caller, "dashboard/instances/create_answer.html", "instances", **context)


def _digest(data: QueryDict) -> str:
    asked = sorted(
        (name, values) for name, values in data.lists() if name not in NOT_ASKED and not name.startswith("file_")
    )
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:16]


def _label(form: InstanceForm, name: str) -> str:
    root = name.split(".", maxsplit=1)[0]
    known = (FORM_FIELDS | {"networks": form.networks_at}).get(root, root)
    return str(form[known].label) if known in form.fields else ""


def _applied(data: QueryDict) -> QueryDict:
    """The form with a change that would help, and asked to be tried. What is no such change changes nothing."""
    changed = data.copy()
    changed["try"] = "1"
    try:
        said = json.loads(str(data["apply"]))
    except ValueError:
        return changed
    for name, value in said.items() if isinstance(said, dict) else ():
        if name in APPLIED and isinstance(value, str | int):
            changed[APPLIED[name]] = str(value)
    return changed


def _tried(request: HttpRequest, caller: Caller, form: InstanceForm) -> HttpResponse:
    """The form again, with its errors at their fields or with what a create would do."""
    context: dict[str, Any] = {"is_trial": True, "findings": user_data_findings(form.user_data_typed)}
    if form.is_valid():
        try:
            wanted = InstanceCreate(**form.wanted())
            trial = create_try(caller=caller, wanted=wanted)
            helps = [(one, _apply_value(one)) for one in trial.changes]
            context |= {"trial": trial, "trial_query": simulate_query(wanted), "trial_helps": helps}
        except KilonovaError as error:
            errors_add(form, error, FORM_FIELDS | {"networks": form.networks_at})
    return _shown(request, caller, form=form.ready() if form.errors else form, **context)


def _apply_value(change: Any) -> str:
    """What the button of a change says to the form; empty for one that the form cannot say."""
    body, whats = change["simulate"] or {}, {one["what"] for one in change["steps"]}
    is_plain = all(isinstance(value, str | int) for value in body.values())
    if not body or not body.keys() <= APPLIED.keys() or not is_plain or whats - {"flavor", "zone", "count"}:
        return ""
    return json.dumps(body)


def _key_added(request: HttpRequest, caller: Caller, data: QueryDict) -> HttpResponse:
    """The form as it is, with a key pair more: one that was pasted, or one made here, whose private half is shown this
    once.
    """
    require(caller, "keypairs:write")
    name, public_key = data.get("new_key_name", ""), data.get("new_public_key", "").strip()
    who: dict[str, Any] = {"user_id": caller.user_id, "name": name, "project_id": caller.project_id}
    changed, context = data.copy(), dict[str, Any]()
    try:
        if public_key:
            keypair_create(**who, public_key=public_key)
            context["key_added"] = name
        else:
            context["key_made"] = keypair_generate(**who)
        changed["key_name"], changed["new_key_name"], changed["new_public_key"] = name, "", ""
    except KilonovaError as error:
        context["key_problems"] = [text for texts in reasons_by_field(error).values() for text in texts]
    form = _form(caller, changed, request.FILES, is_unasked=True)
    return _shown(request, caller, form=form, **context)


def _shown(request: HttpRequest, caller: Caller, **context: Any) -> HttpResponse:
    """The form: alone for htmx, with what is left of the quota for a browser."""
    if is_htmx(request):
        return show(request, caller, "dashboard/instance_form.html", "instances", **context)
    context["quota"] = quota_state(project_id=caller.project_id)
    return show(request, caller, "dashboard/instance_create.html", "instances", **context)


def _form(
    caller: Caller,
    data: QueryDict | None,
    files: Any = None,
    *,
    is_trial: bool | None = None,
    is_unasked: bool = False,
    marks_flavors: bool = True,
) -> InstanceForm:
    """`is_unasked`: what is filled in is shown again and not judged."""
    flavors = list(flavors_visible(caller=caller))
    form = InstanceForm(
        None if is_unasked else data,
        # Files alone, though there are none, would make it one that was sent.
        None if is_unasked or data is None else files,
        offered=_offered(caller, flavors),
        may_name_host=caller.is_admin,
        is_trial="try" in (data or {}) if is_trial is None else is_trial,
    )
    if is_unasked and data is not None:
        form.initial = {name: data.getlist(name) if name in MANY else data.get(name) for name in data}
        form.initial |= {name: form.fields[name].widget.value_from_datadict(data, files or {}, name) for name in ROWS}
    if marks_flavors:
        offered = [one for one in flavors if not one.disabled]
        form.flavors_mark(flavors_without_room(caller=caller, flavors=offered))
    return form


def _offered(caller: Caller, flavors: Sequence[Any]) -> Offered:
    volumes = volumes_visible(caller).filter(project=caller.project_id, state="available")
    return Offered(
        flavors=flavors,
        images=list(images_listed(caller=caller)),
        keypairs=list(keypairs_of(user_id=caller.user_id)),
        groups=list(server_groups_visible(caller=caller)),
        networks=list(networks_usable(caller).order_by("name", "pk")[:MAX_NETWORKS]),
        ports=list(ports_unused(caller).order_by("name", "pk")[:MAX_NETWORKS]),
        security_groups=_security_groups(caller),
        certificates=list(certificates_visible(project_id=caller.project_id).order_by("name", "pk")),
        zones=[zone.name for zone in zone_list()],
        volumes=list(volumes.order_by("name")[:MAX_NETWORKS]),
        volume_types=list(volume_types_visible(caller).order_by("name")[:MAX_NETWORKS]),
    )


def _security_groups(caller: Caller) -> list[Any]:
    """Those of the caller's project, its default group among them."""
    rows = groups_visible(caller=caller).filter(project=caller.project_id).order_by("name", "pk")[:MAX_NETWORKS]
    found = list(rows)
    return list(rows.all()) if default_group_make(project_id=caller.project_id, found=found) else found
