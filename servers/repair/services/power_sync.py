"""This module compares guests with the state of their instances: Nova's rules, with each correction recorded."""

import logging
import uuid
from collections.abc import Collection

from django.db import transaction

from computeagent.protocol.guests import GuestFacts
from computeagent.protocol.power import PowerState
from controlplane.kernel.errors import Conflict, NotFound
from controlplane.kernel.texts import phrase as _
from controlplane.work.heals import heal_record
from controlplane.work.host_ownership import Ownership, owned
from controlplane.work.work import open_work_subjects
from servers.instances.actions.power import START, STOP
from servers.instances.domain.state_reasons import (
    DETAILS_MAX,
    REASON_MAX,
    STOOD_STILL,
    WATCHDOG_FIRED,
    hangs,
    reason_sentence,
)
from servers.instances.services.host_action import host_action_begin
from servers.instances.services.incidents import incident_record
from servers.instances.services.state import guest_seen_set, state_set
from servers.models import Instance
from servers.networks.selectors.ports import hypervisor_networks_of
from servers.repair.domain.drift import GUEST_DRIFTS
from servers.repair.domain.power_rules import AT_ONCE, PowerHeal, power_heal
from servers.repair.services.crashes import crash_handle, hang_handle, hang_is_recorded
from servers.repair.services.guest_volumes import guest_volumes_note
from servers.states import POWERED_ON, TaskState, VmState

log = logging.getLogger(__name__)
_DONE = {
    PowerHeal.FOLLOW: _("The instance was set to stopped, as its guest is."),
    PowerHeal.STOP: _("The guest is being stopped."),
    PowerHeal.REBUILD_GUEST: _("The guest is being defined anew from its disks and started."),
}
_ACTION = {PowerHeal.STOP: STOP, PowerHeal.REBUILD_GUEST: START}


def power_states_sync(*, host: str, guests: dict[uuid.UUID, GuestFacts], ownership: Ownership | None = None) -> None:
    """Periodic truth from the hypervisor. Instances with a task or open work are left alone (Nova's rule).

    With `ownership`, a report takes effect only while its agent owns the host.
    """
    rows = Instance.objects.filter(pk__in=guests, host=host, deleted_at__isnull=True, task_state=TaskState.NONE)
    instances = list(rows.filter(owned(ownership)))
    busy = open_work_subjects(subjects=[instance.pk for instance in instances])
    resting = [instance for instance in instances if instance.pk not in busy]
    silent = [one.pk for one in resting if one.addresses and not guests[one.pk].addresses]
    cards = hypervisor_networks_of(instance_uuids=silent)
    for instance in resting:
        _sync_one(instance, guests[instance.pk], ownership, cards.get(instance.pk))


def power_restore(*, instance_id: uuid.UUID, asked_by: str = "") -> bool:
    """Let guest and state agree again, by what the row says of both; False when they do, or somebody works on it.

    Raises Conflict when the instance changed at this very moment.
    """
    with transaction.atomic():
        rows = Instance.objects.select_for_update().filter(pk=instance_id, deleted_at__isnull=True)
        instance = rows.filter(task_state=TaskState.NONE).exclude(host="").first()
        # Checked again under the lock: whoever begins work changes the instance first.
        if instance is None or open_work_subjects(subjects=[instance_id]):
            return False
        proposed_heal = power_heal(instance.vm_state, instance.power_state)
        if proposed_heal is PowerHeal.NOTHING:
            return False
        _put_right(instance, proposed_heal, asked_by)
    return True


def guest_bring_back(*, instance_id: uuid.UUID, failed: str) -> bool:
    """The host says at the end of work of kind `failed`, in whose transaction this is, that it has no guest of this
    instance: it is asked at once to bring it back, if the instance is one that runs. False when nothing was begun.

    After a start that failed it is not: trying again is left to drift, which does so slowly.
    """
    instance = Instance.objects.filter(pk=instance_id, deleted_at__isnull=True).first()
    if instance is None or not guest_seen_set(instance, None, power_state=PowerState.NOSTATE):
        return False
    if failed == START.name or power_heal(instance.vm_state, PowerState.NOSTATE) is not PowerHeal.REBUILD_GUEST:
        return False
    try:
        return power_restore(instance_id=instance_id)
    except Conflict as error:
        log.info("instance %s has no guest, and cannot be started: %s", instance_id, error.message)
        return False


def _sync_one(
    instance: Instance, guest: GuestFacts, ownership: Ownership | None, cards: Collection[str] | None
) -> None:
    """Write what changed; nothing where nothing did. `cards`: the hypervisor's networks that it has ports in; None: it
    has no ports at all.
    """
    changes: dict[str, object] = {}
    if guest.power_state != instance.power_state:
        changes["power_state"] = guest.power_state
    addresses = {network: list(each) for network, each in guest.addresses.items()}  # as JSON gives them back
    if not addresses:
        # A guest that is off says nothing of its cards. What it said of one that is gone is over.
        in_default = cards is None and instance.has_default_network
        addresses = {name: each for name, each in instance.addresses.items() if in_default or name in (cards or ())}
    if addresses != instance.addresses:
        changes["addresses"] = addresses
    if guest.vnc_socket and guest.vnc_socket != instance.console_socket:
        changes["console_socket"] = guest.vnc_socket
    changes |= _reason_changes(instance, guest)
    if guest.power_state in POWERED_ON and guest.volumes is not None:
        strays = guest_volumes_note(instance, guest.volumes)
        changes |= {"stray_volumes": strays} if strays != instance.stray_volumes else {}
    if changes and not _seen(instance, ownership, changes):
        return  # somebody began with it, or has the host now: what was read of the guest may be over
    try:
        if power_heal(instance.vm_state, guest.power_state) in AT_ONCE:
            power_restore(instance_id=instance.pk)
        elif _is_hung(instance):
            _hang_follow(instance.pk, is_new="power_reason" in changes)
    except (Conflict, NotFound) as error:
        log.info("instance %s changed while its guest was put right: %s", instance.pk, error.message)


def _is_hung(instance: Instance) -> bool:
    """Whether its guest hangs and is to run; one that is rescued, or paused by somebody, has no crash policy."""
    return instance.vm_state == VmState.ACTIVE and hangs(instance)


def _hang_follow(instance_id: uuid.UUID, *, is_new: bool) -> None:
    """Do what follows from a hang, once. What the end of an action reported is new as well, where no entry says so.
    Raises Conflict.
    """
    with transaction.atomic():
        rows = Instance.objects.select_for_update().filter(pk=instance_id, deleted_at__isnull=True)
        instance = rows.filter(task_state=TaskState.NONE).exclude(host="").first()
        if instance is None or not _is_hung(instance) or open_work_subjects(subjects=[instance_id]):
            return
        if is_new or not hang_is_recorded(instance):
            hang_handle(instance)


def _reason_changes(instance: Instance, guest: GuestFacts) -> dict[str, object]:
    """Why the guest is as it is, as its agent says it: texts of a host, cut to what the columns hold."""
    reason = guest.reason.replace("\0", "")[:REASON_MAX]
    details = guest.details.replace("\0", "")[:DETAILS_MAX]
    said = {"power_reason": reason, "power_details": details, "watchdog_fired": max(0, guest.watchdog_fired)}
    return {name: value for name, value in said.items() if value != getattr(instance, name)}


def _seen(instance: Instance, ownership: Ownership | None, changes: dict[str, object]) -> bool:
    """Record what was seen, and in the journal what the guest did by itself; a crash and a hang have what follows from
    them in their own entries.
    """
    fired_before = instance.watchdog_fired
    with transaction.atomic():
        if not guest_seen_set(instance, ownership, **changes):
            return False
        for name, value in changes.items():
            setattr(instance, name, value)
        if instance.watchdog_fired > fired_before:
            said = _(
                "It fired {watchdog_fired} times since the host's agent counts.", watchdog_fired=instance.watchdog_fired
            )
            incident_record(instance, WATCHDOG_FIRED, said)
        is_still = "power_reason" in changes and instance.power_state == PowerState.PAUSED
        if is_still and not _is_hung(instance) and (sentence := reason_sentence(instance)):
            incident_record(instance, STOOD_STILL, sentence)
    return True


def _put_right(instance: Instance, proposed_heal: PowerHeal, asked_by: str) -> None:
    """Correct it by an action that people can see, and record the heal."""
    vm_in, task_in = {VmState(instance.vm_state)}, {TaskState.NONE}
    if proposed_heal is PowerHeal.FOLLOW and instance.power_state == PowerState.CRASHED:
        # No heal: a crash is a fault, and drift until somebody acts where it stays off.
        crash_handle(instance)
        return
    if proposed_heal is PowerHeal.FOLLOW:
        state_set(instance.pk, vm_in=vm_in, task_in=task_in, vm_state=VmState.STOPPED)
    else:
        host_action_begin(instance, _ACTION[proposed_heal], user_id=None, vm_in=vm_in, task_in=task_in)
    heal_record(
        kind=GUEST_DRIFTS[proposed_heal],
        subject=instance.pk,
        found=_(
            "The instance is {vm_state} and its host {host} says that the guest is {power_state}.",
            vm_state=instance.vm_state,
            host=instance.host,
            power_state=_("not there") if instance.power_state == PowerState.NOSTATE else instance.power_state,
        ),
        done=_DONE[proposed_heal],
        evidence={
            "vm_state": instance.vm_state,
            "power_state": instance.power_state,
            "host": instance.host,
            "generation": instance.generation,
            "asked_by": asked_by,
        },
    )
