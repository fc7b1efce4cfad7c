"""What a person does to an instance: one press for what loses nothing, a page that asks for what needs more."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST

from controlplane.dashboard.form_errors import errors_add
from controlplane.dashboard.instances.action_choices import action_choices
from controlplane.dashboard.instances.action_forms import ActionForm, DeleteForm, ResetForm, wants_image
from controlplane.dashboard.instances.action_toasts import action_toast, deletion_toast, refused_toast
from controlplane.dashboard.pages import page, show
from controlplane.dashboard.templatetags.pages import duration
from controlplane.identity.domain import Caller
from controlplane.identity.policy import require
from controlplane.kernel.errors import KilonovaError, NotFound
from controlplane.kernel.texts import gettext_noop
from servers.conf import server_options
from servers.images.selectors import images_listed
from servers.instances.actions.lifecycle import DELETE
from servers.instances.actions.record import RESET_STATE
from servers.instances.actions.refusal import action_refusal
from servers.instances.actions.rule import ActionRule
from servers.instances.actions.table import VERBS
from servers.instances.selectors.instances import instance_get
from servers.instances.selectors.interfaces import instance_addresses
from servers.instances.selectors.silence import silence_of, wait_s
from servers.instances.services.act import instance_act
from servers.instances.services.delete import instance_delete
from servers.instances.services.reset_state import instance_reset_state
from servers.states import VmState, api_status

RESET_TEXT = gettext_noop(
    "For an instance whose state here is wrong. Its guest is left as it is, and work that is open must be cancelled "
    "first."
)


@dataclass(frozen=True, slots=True)
class Question:
    """What the page of an action says and asks. `texts` and `loss` are English and shown in the reader's language.
    `refusal`: why it may not begin now; then it only says that. `rarely_used`: names of fields of the form that are
    folded away until one of them is filled in or wrong; those that the form does not have are passed over.
    """

    rule: ActionRule
    texts: tuple[str, ...]
    form: forms.Form
    loss: str = ""
    refusal: str = ""
    rarely_used: tuple[str, ...] = ()

    @property
    def shows_rarely_used(self) -> bool:
        """Whether one of the rarely used fields has something to show."""
        return any(name in self.form.errors or self.form.data.get(name) for name in self.rarely_used)

    @property
    def is_danger(self) -> bool:
        """Whether something is lost by it."""
        return bool(self.loss)


@require_POST
@page("instances:act")
def instance_act_view(request: HttpRequest, caller: Caller, instance_id: uuid.UUID) -> HttpResponse:
    """An action of the table by its name, as a button asks for it, with whatever arguments the form has."""
    action = request.POST.get("action", "")
    taken = VERBS[action].arguments if action in VERBS else ()
    given = {one: request.POST[one.name] for one in taken if request.POST.get(one.name)}
    arguments = {one.name: text if one.is_secret else text.strip() for one, text in given.items()}
    try:
        instance = instance_act(caller=caller, instance_id=instance_id, action=action, arguments=arguments)
    except NotFound:
        raise
    except KilonovaError as error:
        refused_toast(request, instance_id, action, error)
    else:
        action_toast(request, caller, instance, VERBS[action])
    return redirect("instance", instance_id=instance_id)


@require_http_methods(["GET", "HEAD", "POST"])
@page("instances:act")
def instance_act_form(request: HttpRequest, caller: Caller, instance_id: uuid.UUID, action: str) -> HttpResponse:
    """The page of any action of the table: what it does, what is lost by it, and a field for each of its arguments."""
    rule = VERBS.get(action)
    if rule is None:
        raise NotFound(gettext("There is no such action."))
    require(caller, rule.policy)
    instance = instance_get(caller=caller, instance_id=instance_id)
    images = images_listed(caller=caller) if wants_image(rule) else ()
    choices = action_choices(rule, caller, instance)
    form = ActionForm(rule, request.POST if request.method == "POST" else None, images=images, choices=choices)
    refusal = action_refusal(rule.name, instance, caller)
    question = Question(rule, (rule.help,), form, loss=rule.loss, refusal=refusal)

    def act() -> None:
        instance_act(caller=caller, instance_id=instance_id, action=rule.name, arguments=form.arguments)

    return asked(request, caller, instance, question, act)


@require_http_methods(["GET", "HEAD", "POST"])
@page("instances:reset_state")
def instance_reset_view(request: HttpRequest, caller: Caller, instance_id: uuid.UUID) -> HttpResponse:
    """Reset the state, for administrators."""
    instance = instance_get(caller=caller, instance_id=instance_id)
    form = ResetForm(request.POST if request.method == "POST" else None)
    question = Question(RESET_STATE, (RESET_TEXT,), form, refusal=action_refusal(RESET_STATE.name, instance, caller))

    def act() -> None:
        data = form.cleaned_data
        instance_reset_state(caller=caller, instance_id=instance_id, state=data["state"], reason=data["reason"])

    return asked(request, caller, instance, question, act)


@require_http_methods(["GET", "HEAD", "POST"])
@page("instances:delete")
def instance_delete_view(request: HttpRequest, caller: Caller, instance_id: uuid.UUID) -> HttpResponse:
    """Delete it; the page says what is lost, and for how long it can be restored."""
    instance = instance_get(caller=caller, instance_id=instance_id)
    data = request.POST if request.method == "POST" else None
    interval_s = server_options().reclaim_instance_interval_s
    form: forms.Form = forms.Form(data)
    if instance.vm_state == VmState.SOFT_DELETE:
        loss = gettext("It can be restored no more: its disks are lost for good, at once.")
    elif interval_s and instance.launched_at and instance.host:
        form = DeleteForm(data)
        loss = gettext("It is powered off, and can be restored for %(time)s. Then its disks are lost for good.") % {
            "time": duration(interval_s)
        }
    else:
        loss = gettext("Its disks are lost for good.")
    refusal = action_refusal(DELETE.name, instance, caller)
    question = Question(DELETE, (), form, loss=loss, refusal=refusal)

    def act() -> None:
        is_forced = request.POST.get("force") in {"1", "on"} or instance.vm_state == VmState.SOFT_DELETE
        instance_delete(caller=caller, instance_id=instance_id, is_forced=is_forced)
        can_be_restored = isinstance(form, DeleteForm) and not is_forced
        deletion_toast(request, caller, instance, can_be_restored=can_be_restored)

    return asked(request, caller, instance, question, act, then="instances")


def asked(
    request: HttpRequest,
    caller: Caller,
    instance: Any,
    question: Question,
    act: Callable[[], None],
    *,
    then: str = "",
) -> HttpResponse:
    """The page, refusals at their fields; or what it asked for, and then the instance's page (`then`: another one)."""
    form = question.form
    if request.method == "POST" and form.is_valid():
        try:
            act()
        except NotFound:
            raise
        except KilonovaError as error:
            errors_add(form, error, {})
        else:
            if question.rule is not DELETE:
                action_toast(request, caller, instance, question.rule)
            return redirect(then) if then else redirect("instance", instance_id=instance.pk)
    wrong = next((name for name in form.fields if name in form.errors), next(iter(form.fields), ""))
    if wrong:
        form.fields[wrong].widget.attrs["autofocus"] = True
    context: dict[str, Any] = {
        "instance": instance,
        "addresses": instance_addresses([instance]).get(instance.pk, {}),
        "question": question,
        "silence": silence_of(instance),
        "wait_s": wait_s(question.rule, instance),
        "form": form,
        "status": api_status(instance.vm_state, instance.task_state),
    }
    return show(request, caller, "dashboard/instance_act.html", "instances", **context)
