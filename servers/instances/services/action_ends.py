"""What follows the end of some actions, in the transaction that ends them."""

from collections.abc import Callable, Mapping

from controlplane.work.work import WorkLease
from servers.instances.actions.images import BACKUP, SHELVE, SHELVE_OFFLOAD, SNAPSHOT, UNSHELVE
from servers.instances.actions.interfaces import ATTACH_INTERFACE, DETACH_INTERFACE
from servers.instances.actions.rescue import REBUILD, UNRESCUE
from servers.instances.actions.volumes import ATTACH_VOLUME, DETACH_VOLUME
from servers.instances.services import volumes
from servers.instances.services.interfaces import attach_failed, detach_done
from servers.instances.services.rescue import rebuild_done, rebuild_failed
from servers.instances.services.rescue_timeout import unrescue_failed
from servers.instances.services.shelving import offload_done, shelve_done, unshelve_done, unshelve_failed
from servers.instances.services.snapshots import backup_done, image_given_up
from servers.models import Instance, InstanceAction

AFTER_DONE: Mapping[str, Callable[[WorkLease], None]] = {
    BACKUP.name: backup_done,
    SHELVE.name: shelve_done,
    SHELVE_OFFLOAD.name: offload_done,
    UNSHELVE.name: unshelve_done,
    DETACH_INTERFACE.name: detach_done,
    REBUILD.name: rebuild_done,
    ATTACH_VOLUME.name: volumes.attach_done,
    DETACH_VOLUME.name: volumes.detach_done,
}
AFTER_FAILURE: Mapping[str, Callable[[Instance, bool], None]] = {
    SNAPSHOT.name: image_given_up,
    BACKUP.name: image_given_up,
    SHELVE.name: image_given_up,
    UNSHELVE.name: unshelve_failed,
    ATTACH_INTERFACE.name: attach_failed,
    REBUILD.name: rebuild_failed,
    UNRESCUE.name: unrescue_failed,
    ATTACH_VOLUME.name: volumes.attach_failed,
    DETACH_VOLUME.name: volumes.detach_failed,
}
"""They are told whether the host was silent to the end, so that nobody knows what it holds."""


def open_actions_failed(instance: Instance) -> None:
    """Do what a failure of each open action asks for, where no work of it is left that could tell: as of a host that
    was silent to the end. Call it before they are closed; `instance` as it was while they were under way.
    """
    opened = InstanceAction.objects.filter(instance_uuid=instance.pk, finished_at__isnull=True).order_by("pk")
    for action in opened.values_list("action", flat=True):
        if (do := AFTER_FAILURE.get(action)) is not None:
            do(instance, True)
