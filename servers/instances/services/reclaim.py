"""Soft-deleted instances whose time is over are deleted for good (Nova's `_reclaim_queued_deletes`)."""

import logging
import uuid

from django.db import transaction
from django.db.models import QuerySet

from controlplane.infra.db import now_plus
from controlplane.work.work import work_lock
from servers.conf import server_options
from servers.instances.services.delete import delete_for_good
from servers.models import Instance
from servers.states import TaskState, VmState

log = logging.getLogger(__name__)
MAX_IN_A_ROUND = 200


def soft_deleted_reclaim() -> int:
    """Begin the deletion of those soft-deleted more than RECLAIM_INSTANCE_INTERVAL_S ago (0: none), the oldest first.

    Returns how many. A round takes at most MAX_IN_A_ROUND, each in a transaction of its own that looks again under the
    row's lock: cut off anywhere, or run twice at once, each is deleted once. A lock of an instance does not keep it:
    soft-deleted instances count for no quota, so nobody may hold on to them.
    """
    ids = list(_due().order_by("soft_deleted_at").values_list("pk", flat=True)[:MAX_IN_A_ROUND])
    return sum(_reclaim(instance_id) for instance_id in ids)


def _due() -> QuerySet[Instance]:
    interval_s = server_options().reclaim_instance_interval_s
    if interval_s <= 0:
        return Instance.objects.none()
    rows = Instance.objects.filter(vm_state=VmState.SOFT_DELETE, task_state=TaskState.NONE, deleted_at__isnull=True)
    return rows.filter(soft_deleted_at__lt=now_plus(-interval_s))


def _reclaim(instance_id: uuid.UUID) -> bool:
    """One of them; a failure is logged and does not stop the others."""
    try:
        with transaction.atomic():
            work_lock(subject=instance_id)
            instance = _due().select_for_update().filter(pk=instance_id).first()
            if instance is None:
                return False
            delete_for_good(instance, user_id=None)
    except Exception:
        log.exception("instance %s could not be deleted for good", instance_id)
        return False
    log.info("instance %s: its time to be restored is over, it is deleted for good", instance_id)
    return True
