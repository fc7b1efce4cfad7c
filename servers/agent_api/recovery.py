"""What an agent tells of its start: which guests it brought back, and which it could not."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction

from controlplane.work.heals import heal_record
from servers.instances.services.journal import fault_record
from servers.models import Instance
from servers.repair.domain.drift import DriftKind

STEP = "bringing_back"
NOT_BACK = "The guest could not be started again after its host came back."


@dataclass(frozen=True, slots=True)
class Return:
    """One instance that should have run: what the agent found of its guest, and `error` if that did not help."""

    instance_id: uuid.UUID
    found: str
    error: str = ""


def guests_returned(*, host: str, returns: Sequence[Return]) -> None:
    """Write each into the book; one that could not be brought back has a fault that its owner sees."""
    by_id = {one.instance_id: one for one in returns}
    rows = Instance.objects.filter(pk__in=by_id, host=host, deleted_at__isnull=True)
    with transaction.atomic():
        for instance in rows:
            one = by_id[instance.pk]
            _record(instance, one)
            if one.error:
                fault_record(instance_id=instance.pk, message=NOT_BACK, step=STEP, host=host, details=one.error)


def _record(instance: Instance, one: Return) -> None:
    guest = "was not there" if one.found == "nostate" else f"was {one.found}"
    heal_record(
        kind=DriftKind.GUEST_MISSING.value if one.found == "nostate" else DriftKind.GUEST_OFF.value,
        subject=instance.pk,
        found=f"The agent of {instance.host} started; the instance is {instance.vm_state} and its guest {guest}.",
        done=f"The guest could not be brought back: {one.error}" if one.error else "The guest was started again.",
        evidence={
            "host": instance.host,
            "vm_state": instance.vm_state,
            "power_state": one.found,
            "generation": instance.generation,
            "error": one.error,
        },
    )
