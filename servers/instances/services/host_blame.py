"""Failed attempts are counted against their hosts: at once, or once the instance is built elsewhere.

Which attempts count is decided in the transaction that ends a build, as a mark on their rows. They are counted one by
one after it, since each locks its host's node; what a process that dies in between leaves, a round counts.
"""

import logging
import uuid

from django.db import transaction

from scheduling.fleet.services.build_failures import build_failure_count
from servers.instances.domain.host_blame import AttemptBlame
from servers.models import AttemptRecord

log = logging.getLogger(__name__)


def blame_due_at(*, instance_id: uuid.UUID, built_on: str) -> None:
    """The instance runs on this host: what the others could not do was their fault. Call in that transaction."""
    pending = AttemptRecord.objects.filter(instance_uuid=instance_id, host_blame=AttemptBlame.PENDING)
    due = pending.exclude(host=built_on).update(host_blame=AttemptBlame.DUE)
    pending.update(host_blame=AttemptBlame.NONE)
    if due:
        transaction.on_commit(lambda: _count_quietly(instance_id))


def blame_drop(*, instance_id: uuid.UUID) -> None:
    """No host built it, and it is asked for again in another state of the world: no host is to blame."""
    AttemptRecord.objects.filter(instance_uuid=instance_id, host_blame=AttemptBlame.PENDING).update(
        host_blame=AttemptBlame.NONE
    )


def blame_round() -> int:
    """Count what is due still. Returns how many attempts."""
    due = AttemptRecord.objects.filter(host_blame=AttemptBlame.DUE).order_by("pk")
    return sum(_count(pk) for pk in due.values_list("pk", flat=True))


def _count_quietly(instance_id: uuid.UUID) -> None:
    due = AttemptRecord.objects.filter(instance_uuid=instance_id, host_blame=AttemptBlame.DUE).order_by("pk")
    try:
        for pk in list(due.values_list("pk", flat=True)):
            _count(pk)
    except Exception:
        log.exception("failed attempts of instance %s could not be counted; it is tried again", instance_id)


def _count(pk: int) -> bool:
    """False where somebody else has counted it."""
    with transaction.atomic():
        row = AttemptRecord.objects.filter(pk=pk, host_blame=AttemptBlame.DUE).first()
        if row is None or not AttemptRecord.objects.filter(pk=pk, host_blame=AttemptBlame.DUE).update(
            host_blame=AttemptBlame.COUNTED
        ):
            return False
        build_failure_count(host=row.host, reason=row.reason.partition("\n")[0], instance_uuid=row.instance_uuid)
    return True
