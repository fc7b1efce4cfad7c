"""What some actions do before the host's agent is asked, in the transaction of the request."""

from collections.abc import Callable, Mapping

from controlplane.identity.domain import Caller
from servers.instances.actions.images import BACKUP, SHELVE, SNAPSHOT, UNSHELVE
from servers.instances.actions.interfaces import ATTACH_INTERFACE, DETACH_INTERFACE
from servers.instances.actions.power import REBOOT
from servers.instances.actions.rule import ActionRule
from servers.instances.actions.volumes import ATTACH_VOLUME, DETACH_VOLUME
from servers.instances.services import volumes
from servers.instances.services.hard_reboot import reboot_begin
from servers.instances.services.interfaces import attach_begin, detach_begin
from servers.instances.services.shelving import unshelve_begin
from servers.instances.services.snapshots import backup_begin, shelve_begin, snapshot_begin
from servers.models import Instance

Begin = Callable[[Instance, ActionRule, Caller, Mapping[str, str]], None]

BEGINNINGS: Mapping[str, Begin] = {
    REBOOT.name: reboot_begin,
    SNAPSHOT.name: snapshot_begin,
    BACKUP.name: backup_begin,
    SHELVE.name: shelve_begin,
    UNSHELVE.name: unshelve_begin,
    ATTACH_INTERFACE.name: attach_begin,
    DETACH_INTERFACE.name: detach_begin,
    ATTACH_VOLUME.name: volumes.attach_begin,
    DETACH_VOLUME.name: volumes.detach_begin,
}
"""They write the work themselves, or whatever comes before it."""
