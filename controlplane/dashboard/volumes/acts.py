"""What the buttons of a volume's page ask for. Each leads back to the page, which says what became of it."""

import uuid
from collections.abc import Callable
from enum import StrEnum
from typing import TypeVar

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from controlplane.dashboard.pages import page
from controlplane.identity.domain import Caller
from controlplane.infra.reader_texts import refusal_text
from controlplane.kernel.errors import Invalid, KilonovaError
from controlplane.kernel.ids import parse_uuid
from servers.instances.actions.volumes import ATTACH_VOLUME, DETACH_VOLUME, YES
from servers.instances.services.act import instance_act
from servers.volumes.domain.states import VolumeSnapshotState, VolumeState
from servers.volumes.selectors.volumes import snapshot_get, transfers_visible, volume_get
from servers.volumes.services.retype import volume_retype
from servers.volumes.services.snapshots import (
    SnapshotRequest,
    snapshot_create,
    snapshot_delete,
    snapshot_reset_state,
)
from servers.volumes.services.transfers import transfer_accept, transfer_create, transfer_delete
from servers.volumes.services.uploads import volume_upload
from servers.volumes.services.volumes import volume_delete, volume_extend, volume_reset_state, volume_revert

S = TypeVar("S", bound=StrEnum)


def act_done(request: HttpRequest, act: Callable[[], str], page_name: str, **of_what: uuid.UUID) -> HttpResponse:
    """To this page, which says what was begun, or why not."""
    try:
        messages.success(request, act(), extra_tags="good")
    except KilonovaError as error:
        messages.error(request, refusal_text(error), extra_tags="bad")
    return HttpResponseRedirect(reverse(page_name, kwargs=of_what))


@require_POST
@page("instances:act")
def volume_attach_view(request: HttpRequest, caller: Caller, volume_id: uuid.UUID) -> HttpResponse:
    """Give it to an instance."""

    def act() -> str:
        texts = {name: request.POST.get(name, "").strip() for name in ("device", "tag")}
        switches = {name: YES for name in ("read_only", "delete_on_termination") if request.POST.get(name)}
        arguments = {"volume": str(volume_id), **{name: text for name, text in texts.items() if text}, **switches}
        instance_act(caller=caller, instance_id=_instance(request), action=ATTACH_VOLUME.name, arguments=arguments)
        return _("The instance is getting the volume.")

    return act_done(request, act, "volume", volume_id=volume_id)


@require_POST
@page("instances:act")
def volume_detach_view(request: HttpRequest, caller: Caller, volume_id: uuid.UUID) -> HttpResponse:
    """Take it from an instance."""

    def act() -> str:
        arguments = {"volume": str(volume_id)}
        instance_act(caller=caller, instance_id=_instance(request), action=DETACH_VOLUME.name, arguments=arguments)
        return _("The guest is asked to let go of the volume.")

    return act_done(request, act, "volume", volume_id=volume_id)


def _instance(request: HttpRequest) -> uuid.UUID:
    named = request.POST.get("instance", "")
    found = parse_uuid(named)
    if found is None:
        raise Invalid(_("There is no instance %(name)s.") % {"name": f"{named!r:.60}"}, field="instance")
    return found


@require_POST
@page("volumes:write")
def volume_extend_view(request: HttpRequest, caller: Caller, volume_id: uuid.UUID) -> HttpResponse:
    """Have it grow."""

    def act() -> str:
        text = request.POST.get("size_gib", "").strip()
        if not (text.isascii() and text.isdigit() and len(text) < 10):
            raise Invalid(_("The new size is a whole number of GiB."), field="size_gib")
        volume = volume_extend(caller=caller, volume_id=volume_id, size_gib=int(text))
        return _("%(volume)s is growing to %(size)s GiB.") % {"volume": volume, "size": int(text)}

    return act_done(request, act, "volume", volume_id=volume_id)


@require_POST
@page("volume_snapshots:write")
def volume_snapshot_view(request: HttpRequest, caller: Caller, volume_id: uuid.UUID) -> HttpResponse:
    """Take a snapshot."""

    def act() -> str:
        wanted = SnapshotRequest(volume_id=volume_id, name=request.POST.get("name", "").strip())
        made = snapshot_create(caller=caller, request=wanted)
        return _("Snapshot %(name)s is being taken.") % {"name": made}

    return act_done(request, act, "volume", volume_id=volume_id)


@require_POST
@page("volumes:write")
def volume_retype_view(request: HttpRequest, caller: Caller, volume_id: uuid.UUID) -> HttpResponse:
    """Give it another type, by a copy into another pool where that is allowed and needed."""

    def act() -> str:
        wanted, may_move = request.POST.get("volume_type", "").strip(), request.POST.get("may_move") == "1"
        volume = volume_retype(caller=caller, volume_id=volume_id, volume_type=wanted, may_move=may_move)
        if volume.state == VolumeState.RETYPING:
            return _("%(volume)s is being copied into a pool of its new type.") % {"volume": volume}
        return _("%(volume)s is of type %(type)s now.") % {"volume": volume, "type": volume.volume_type}

    return act_done(request, act, "volume", volume_id=volume_id)


@require_POST
@page("volumes:write")
def volume_upload_view(request: HttpRequest, caller: Caller, volume_id: uuid.UUID) -> HttpResponse:
    """Make an image of it."""

    def act() -> str:
        made = volume_upload(caller=caller, volume_id=volume_id, name=request.POST.get("name", "").strip())
        return _("Image %(name)s is being made of it; it is under Images.") % {"name": made.image.name}

    return act_done(request, act, "volume", volume_id=volume_id)


@require_POST
@page("volumes:write")
def volume_revert_view(request: HttpRequest, caller: Caller, volume_id: uuid.UUID) -> HttpResponse:
    """Go back to the newest snapshot, which the form names so that a newer one is not meant by mistake."""

    def act() -> str:
        snapshot_id = parse_uuid(request.POST.get("snapshot", ""))
        if snapshot_id is None:
            raise Invalid(_("Name the snapshot."), field="snapshot")
        volume = volume_revert(caller=caller, volume_id=volume_id, snapshot_id=snapshot_id)
        return _("%(volume)s goes back to its snapshot.") % {"volume": volume}

    return act_done(request, act, "volume", volume_id=volume_id)


@require_POST
@page("volume_transfers:write")
def volume_transfer_view(request: HttpRequest, caller: Caller, volume_id: uuid.UUID) -> HttpResponse:
    """Offer it to whoever gets the word, which is shown this once."""

    def act() -> str:
        offer = transfer_create(caller=caller, volume_id=volume_id)
        return _("Transfer %(id)s, word %(word)s: hand both to whoever is to have it. They are shown once.") % {
            "id": offer.transfer.pk,
            "word": offer.word,
        }

    return act_done(request, act, "volume", volume_id=volume_id)


@require_POST
@page("volume_transfers:write")
def volume_transfer_end_view(request: HttpRequest, caller: Caller, volume_id: uuid.UUID) -> HttpResponse:
    """Take the offer back."""

    def act() -> str:
        for offer in transfers_visible(caller).filter(volume=volume_id):
            transfer_delete(caller=caller, transfer_id=offer.pk)
        return _("The offer is over. The volume stays here.")

    return act_done(request, act, "volume", volume_id=volume_id)


@require_POST
@page("volume_transfers:write")
def volume_take_view(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Take a volume that another project offered, by the offer's id and word."""
    named = request.POST.get("transfer", "").strip()
    transfer_id = parse_uuid(named)
    try:
        if transfer_id is None:
            raise Invalid(_("There is no transfer %(name)s.") % {"name": f"{named!r:.60}"}, field="transfer")
        volume = transfer_accept(caller=caller, transfer_id=transfer_id, word=request.POST.get("word", "").strip())
    except KilonovaError as error:
        messages.error(request, refusal_text(error), extra_tags="bad")
        return redirect("volumes")
    messages.success(request, _("%(volume)s is yours now.") % {"volume": volume}, extra_tags="good")
    return redirect("volume", volume_id=volume.pk)


@require_POST
@page("volumes:write")
def volume_delete_view(request: HttpRequest, caller: Caller, volume_id: uuid.UUID) -> HttpResponse:
    """Remove it, with its snapshots where that is said; for administrators by force, too."""
    volume = volume_get(caller=caller, volume_id=volume_id)
    with_snapshots, is_forced = (request.POST.get(name) == "1" for name in ("with_snapshots", "force"))
    try:
        volume_delete(caller=caller, volume_id=volume_id, with_snapshots=with_snapshots, is_forced=is_forced)
    except KilonovaError as error:
        messages.error(request, refusal_text(error), extra_tags="bad")
        return redirect("volume", volume_id=volume_id)
    messages.success(request, _("%(volume)s is being deleted.") % {"volume": volume}, extra_tags="good")
    return redirect("volumes")  # its own page may be gone by now


@require_POST
@page("volume_snapshots:write")
def snapshot_delete_view(request: HttpRequest, caller: Caller, snapshot_id: uuid.UUID) -> HttpResponse:
    """Remove a snapshot; volumes that were made of it stay."""
    snapshot = snapshot_get(caller=caller, snapshot_id=snapshot_id)

    def act() -> str:
        snapshot_delete(caller=caller, snapshot_id=snapshot_id, is_forced=request.POST.get("force") == "1")
        return _("Snapshot %(name)s is being deleted.") % {"name": snapshot}

    return act_done(request, act, "volume", volume_id=snapshot.volume_id)


@require_POST
@page("volumes:reset_state")
def volume_reset_view(request: HttpRequest, caller: Caller, volume_id: uuid.UUID) -> HttpResponse:
    """Write its state by hand, for administrators."""
    volume_get(caller=caller, volume_id=volume_id)

    def act() -> str:
        volume = volume_reset_state(volume_id=volume_id, state=state_asked(request, VolumeState))
        return _("%(name)s is %(state)s now.") % {"name": volume, "state": _(volume.state)}

    return act_done(request, act, "volume", volume_id=volume_id)


@require_POST
@page("volumes:reset_state")
def snapshot_reset_view(request: HttpRequest, caller: Caller, snapshot_id: uuid.UUID) -> HttpResponse:
    """Write a snapshot's state by hand, for administrators."""
    snapshot = snapshot_get(caller=caller, snapshot_id=snapshot_id)

    def act() -> str:
        after = snapshot_reset_state(snapshot_id=snapshot_id, state=state_asked(request, VolumeSnapshotState))
        return _("%(name)s is %(state)s now.") % {"name": after, "state": _(after.state)}

    return act_done(request, act, "volume", volume_id=snapshot.volume_id)


def state_asked(request: HttpRequest, states: type[S]) -> S:
    """The state that an administrator writes. Raises Invalid for one that there is not."""
    named = request.POST.get("state", "").strip()
    try:
        return states(named)
    except ValueError:
        raise Invalid(_("There is no state %(name)s.") % {"name": f"{named!r:.60}"}, field="state") from None
