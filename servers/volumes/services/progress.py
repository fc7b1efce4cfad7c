"""How far work on a volume is, for those who look on."""

from controlplane.work.models import Work
from controlplane.work.work import WorkLease
from servers.models import Volume, VolumeBackup
from servers.volumes.services.hints import volumes_changed

DONE, TOTAL = "done_bytes", "total_bytes"


def volume_progress_write(*, lease: WorkLease, done_bytes: int, total_bytes: int) -> None:
    """In the row of the work, as its outcome until it ends. The caller fences."""
    done = {DONE: max(0, done_bytes), TOTAL: max(0, total_bytes)}
    Work.objects.filter(pk=lease.work_id, attempt=lease.attempt).update(outcome=done)
    VolumeBackup.objects.filter(pk=lease.subject).update(done_bytes=done[DONE])
    for volume in Volume.objects.filter(pk=lease.subject):
        volumes_changed(volume)
