"""This module compares guests with the state of their instances: Nova's rules, with each correction recorded."""

import logging
import uuid

from django.db import transaction

from computeagent.protocol.guests import GuestFacts
from computeagent.protocol.power import PowerState
from controlplane.kernel.errors import Conflict, NotFound
from controlplane.work.heals import heal_record
from controlplane.work.host_ownership import Ownership, owned
from controlplane.work.work import open_work_subjects
from servers.instances.actions.table import START, STOP
from servers.instances.services.act import host_action_begin
from servers.instances.services.journal import fault_record
from servers.instances.services.state import guest_seen_set, state_set
from servers.models import Instance
from servers.repair.domain.drift import GUEST_DRIFTS
from servers.repair.domain.power_rules import AT_ONCE, PowerHeal, power_heal
from servers.states import TaskState, VmState

log = logging.getLogger(__name__)
_DONE = {
    PowerHeal.FOLLOW: "The instance was set to stopped, as its guest is.",
    PowerHeal.STOP: "The guest is being stopped.",
    PowerHeal.REBUILD_GUEST: "The guest is being defined anew from its disks and started.",
}
_ACTION = {PowerHeal.STOP: STOP, PowerHeal.REBUILD_GUEST: START}


def power_states_sync(*, host: str, guests: dict[uuid.UUID, GuestFacts], ownership: Ownership | None = None) -> None:
    """Periodic truth from the hypervisor. Instances with a task or open work are left alone (Nova's rule).

    With `ownership`, a report takes effect only while its agent owns the host.
    """
    rows = Instance.objects.filter(pk__in=guests, host=host, deleted_at__isnull=True, task_state=TaskState.NONE)
    instances = list(rows.filter(owned(ownership)))
    busy = open_work_subjects(subjects=[instance.pk for instance in instances])
    for instance in instances:
        if instance.pk not in busy:
            _sync_one(instance, guests[instance.pk], ownership)


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


def _sync_one(instance: Instance, guest: GuestFacts, ownership: Ownership | None) -> None:
    """Write what changed; nothing where nothing did."""
    changes: dict[str, object] = {}
    if guest.power_state != instance.power_state:
        changes["power_state"] = guest.power_state
    addresses = {network: list(each) for network, each in guest.addresses.items()}  # as JSON gives them back
    if addresses and addresses != instance.addresses:
        changes["addresses"] = addresses
    if guest.vnc_socket and guest.vnc_socket != instance.console_socket:
        changes["console_socket"] = guest.vnc_socket
    if changes and not guest_seen_set(instance, ownership, **changes):
        return  # somebody began with it, or has the host now: what was read of the guest may be over
    if power_heal(instance.vm_state, guest.power_state) in AT_ONCE:
        try:
            power_restore(instance_id=instance.pk)
        except (Conflict, NotFound) as error:
            log.info("instance %s changed while its guest was put right: %s", instance.pk, error.message)


def _put_right(instance: Instance, proposed_heal: PowerHeal, asked_by: str) -> None:
    """Correct it by an action that people can see, and record the heal."""
    vm_in, task_in = {VmState(instance.vm_state)}, {TaskState.NONE}
    if proposed_heal is PowerHeal.FOLLOW:
        state_set(instance.pk, vm_in=vm_in, task_in=task_in, vm_state=VmState.STOPPED)
        if instance.power_state == PowerState.CRASHED:
            # Nothing is repaired by that: the row follows, and the crash is a fault, and drift until somebody acts.
            message = f"The guest crashed on {instance.host}; the instance is stopped since."
            fault_record(instance_id=instance.pk, message=message, step="power_sync", host=instance.host)
            return
    else:
        host_action_begin(instance, _ACTION[proposed_heal], user_id=None, vm_in=vm_in, task_in=task_in)
    heal_record(
        kind=GUEST_DRIFTS[proposed_heal],
        subject=instance.pk,
        found=f"The instance is {instance.vm_state} and its host {instance.host} says that the guest is "
        f"{'not there' if instance.power_state == PowerState.NOSTATE else instance.power_state}.",
        done=_DONE[proposed_heal],
        evidence={
            "vm_state": instance.vm_state,
            "power_state": instance.power_state,
            "host": instance.host,
            "generation": instance.generation,
            "asked_by": asked_by,
        },
    )
