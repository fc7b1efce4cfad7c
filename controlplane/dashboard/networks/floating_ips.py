"""The page of floating addresses: allocated, pointed at ports, released."""

import uuid
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from controlplane.dashboard.bulk_jobs.bar import bulk_list_response
from controlplane.dashboard.form_saved import form_saved
from controlplane.dashboard.networks.floating_ip_listing import FLOATING_IPS
from controlplane.dashboard.networks.tags import tagged_form_saved, tags_field
from controlplane.dashboard.pages import page
from controlplane.identity.domain import Caller
from servers.bulk.domain import BulkKind
from servers.networks.selectors.networks import networks_visible
from servers.networks.selectors.tags import TaggedKind
from servers.networks.selectors.topology import ports_for_floating
from servers.networks.services.floating_ips import (
    Target,
    floating_ip_associate,
    floating_ip_create,
    floating_ip_delete,
    floating_ip_disassociate,
)

MAX_CHOICES = 500


class AllocateForm(forms.Form):
    """From which network outside."""

    network = forms.ChoiceField(label=gettext_lazy("Outside network"))
    description = forms.CharField(
        label=gettext_lazy("Description"), required=False, help_text=gettext_lazy("What it is for.")
    )
    tags = tags_field()

    def __init__(self, data: Any = None, *, outside: list[Any], **more: Any) -> None:
        super().__init__(data, **more)
        field: Any = self.fields["network"]
        field.choices = [(str(one.pk), one.name) for one in outside]


class AssociateForm(forms.Form):
    """The port's address that it is to stand for."""

    port = forms.ChoiceField(label=gettext_lazy("Instance"))

    def __init__(self, data: Any = None, *, ports: list[Any], **more: Any) -> None:
        super().__init__(data, **more)
        field: Any = self.fields["port"]
        field.choices = [
            (f"{one.port.pk}/{address}", f"{one.instance_name or one.port.name or one.port.mac}: {address}")
            for one in ports
            for address in one.addresses
            if ":" not in address
        ]

    def target(self) -> Target:
        """What the filled-in form means."""
        port, _, address = self.cleaned_data["port"].partition("/")
        return Target(uuid.UUID(port), address)


@require_safe
@page("floating_ips:read")
def floating_ip_list(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """Those of the project; of every project for an admin."""
    return _list_shown(request, caller)


@require_POST
@page("floating_ips:write")
def floating_ip_new(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """Take one of the chosen network; which, the service says."""
    form = AllocateForm(request.POST, outside=_outside(caller))
    made = tagged_form_saved(
        request,
        caller,
        form,
        lambda: floating_ip_create(
            caller=caller,
            network_id=uuid.UUID(form.cleaned_data["network"]),
            description=form.cleaned_data["description"],
        ),
        lambda row: gettext("%(address)s is yours. Point it at an instance.") % {"address": row.address},
        kind=TaggedKind.FLOATING_IP,
        names={"external_network": "network"},
    )
    if made is not None:
        return redirect("floating-ips")
    return _list_shown(request, caller, allocate=form)


@require_POST
@page("floating_ips:write")
def floating_ip_point(request: HttpRequest, caller: Caller, floating_ip_id: uuid.UUID) -> HttpResponseBase:
    """Let it stand for an address of a port; a refusal stands in its row."""
    form = AssociateForm(request.POST, ports=ports_for_floating(caller)[:MAX_CHOICES])
    row = form_saved(
        request,
        form,
        lambda: floating_ip_associate(caller=caller, floating_ip_id=floating_ip_id, target=form.target()),
        lambda one: (
            gettext("%(address)s leads to %(fixed)s now.") % {"address": one.address, "fixed": one.fixed_address}
        ),
    )
    if row is not None:
        return redirect("floating-ips")
    return _list_shown(request, caller, associate=(floating_ip_id, form))


@require_POST
@page("floating_ips:write")
def floating_ip_unpoint(request: HttpRequest, caller: Caller, floating_ip_id: uuid.UUID) -> HttpResponse:
    """Let it stand for nothing; the project keeps it."""
    row = floating_ip_disassociate(caller=caller, floating_ip_id=floating_ip_id)
    said = gettext("%(address)s leads nowhere now. It is still yours.") % {"address": row.address}
    messages.success(request, said, extra_tags="good")
    return redirect("floating-ips")


@require_POST
@page("floating_ips:write")
def floating_ip_release(request: HttpRequest, caller: Caller, floating_ip_id: uuid.UUID) -> HttpResponse:
    """Give it back."""
    floating_ip_delete(caller=caller, floating_ip_id=floating_ip_id)
    messages.success(request, gettext("The address was given back."), extra_tags="good")
    return redirect("floating-ips")


def _outside(caller: Caller) -> list[Any]:
    return list(networks_visible(caller).filter(is_external=True).order_by("name", "pk")[:MAX_CHOICES])


def _list_shown(
    request: HttpRequest,
    caller: Caller,
    *,
    allocate: AllocateForm | None = None,
    associate: tuple[uuid.UUID, AssociateForm] | None = None,
) -> HttpResponseBase:
    """The list, with the form that was refused if one was."""
    outside = _outside(caller)
    ports = ports_for_floating(caller)[:MAX_CHOICES] if caller.can_write else []
    context = {
        "outside": outside,
        "allocate": allocate or AllocateForm(outside=outside),
        "is_open": allocate is not None,
        "is_refused": bool(allocate or associate),
        "choices": AssociateForm(ports=ports).fields["port"].choices,  # type: ignore[attr-defined]
        "wrong_id": associate[0] if associate else None,
        "wrong": [text for texts in associate[1].errors.values() for text in texts] if associate else [],
    }
    return bulk_list_response(request, caller, FLOATING_IPS, BulkKind.FLOATING_IP, **context)
