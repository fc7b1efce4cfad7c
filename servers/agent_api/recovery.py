"""What an agent tells of its start: which guests it brought back, and which it could not."""

import uuid
from collections.abc import Sequence

from django.db import transaction

from computeagent.protocol.guests import GuestReturn
from computeagent.protocol.power import PowerState
from controlplane.work.heals import heal_record
from servers.instances.services.journal import fault_record
from servers.models import Instance
from servers.repair.domain.drift import DriftKind

STEP = "bringing_back"
_KINDS = {PowerState.NOSTATE: DriftKind.GUEST_MISSING, PowerState.RUNNING: DriftKind.GUEST_RUNS}
NOT_BACK = "The guest could not be started again after its host came back."


def guests_returned(*, host: str, returns: Sequence[GuestReturn]) -> None:
    """Write each into the book; one that could not be brought back has a fault that its owner sees."""
    by_id = {uuid.UUID(one.uuid): one for one in returns}
    rows = Instance.objects.filter(pk__in=by_id, host=host, deleted_at__isnull=True)
    with transaction.atomic():
        for instance in rows:
            one = by_id[instance.pk]
            _record(instance, one)
            if one.error:
                fault_record(instance_id=instance.pk, message=NOT_BACK, step=STEP, host=host, details=one.error)


def _record(instance: Instance, one: GuestReturn) -> None:
    guest = "was not there" if one.found is PowerState.NOSTATE else f"was {one.found}"
    done = "The guest was paused." if one.found is PowerState.RUNNING else "The guest was started again."
    heal_record(
        kind=_KINDS.get(one.found, DriftKind.GUEST_OFF).value,
        subject=instance.pk,
        found=f"The agent of {instance.host} started; the instance is {instance.vm_state} and its guest {guest}.",
        done=f"The guest could not be brought back: {one.error}" if one.error else done,
        evidence={
            "host": instance.host,
            "vm_state": instance.vm_state,
            "power_state": one.found,
            "generation": instance.generation,
            "error": one.error,
        },
    )
