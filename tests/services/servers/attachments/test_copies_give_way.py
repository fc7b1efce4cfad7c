"""A copy of a volume gives way to what is asked of the guest that has it, and begins again afterwards."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from computeagent.agent.giving_way import GIVES_WAY_AFTER_S
from computeagent.agent.held_leases import HeldLease
from computeagent.protocol.volumes import VolumeFacts, VolumeSpec
from computeagent.protocol.work import WorkKind
from computeagent.volumes.base import VolumeProgress
from computeagent.volumes.memory import MemoryBackend
from controlplane.work.models import Work, WorkState
from servers.instances.services.delete import instance_delete
from servers.instances.services.screenshot import screenshot_request
from servers.models import Instance, VolumeBackup, VolumeSnapshot
from servers.volumes.services.backups import BackupRequest, backup_create
from servers.volumes.services.snapshots import SnapshotRequest, snapshot_create
from tests.services.servers.attachments.attached_cloud import ATTACH, Cloud

pytestmark = pytest.mark.django_db(transaction=True)


class Stepped(MemoryBackend):
    """Its copies are as long as a test has steps for them: after each they say how far they are."""

    steps: tuple[Callable[[], None], ...] = ()
    begun = 0

    def snapshot_create(self, volume: VolumeSpec, snapshot_id: str, progress: VolumeProgress) -> VolumeFacts:
        self.begun += 1
        for step in self.steps:
            step()
            progress(1, 2)
        return super().snapshot_create(volume, snapshot_id, progress)


class Copied(Cloud):
    """A cloud whose guest has the volume that is copied, and an agent whose clock is the test's."""

    def __init__(self, path: Path) -> None:
        self.stepped = Stepped("shared", is_shared=True)
        super().__init__(path, self.stepped)
        self.now = 1000.0
        self.h1.context = replace(self.h1.context, clock=lambda: self.now)
        self.parked: list[HeldLease] = []
        self.attached()

    def park(self, kind: WorkKind) -> None:
        """Work that its host takes now has to wait for its turn."""
        held = self.h1.take(kind)
        assert not self.h1.context.instance_mutex.enter_or_park(held)
        self.parked.append(held)

    def later(self, seconds: float) -> None:
        """Time goes by, and leases are renewed."""
        self.now += seconds
        for held in self.h1.context.held_leases.all():
            held.renewed(self.now)

    def copy(self, *steps: Callable[[], None]) -> Work:
        """The host copies; the work as it is afterwards."""
        self.stepped.steps = steps
        assert self.h1.do_volumes() == 1
        return Work.objects.get(subject=VolumeSnapshot.objects.get().pk)

    def resumed(self) -> None:
        """What waited has been given its turn, and is done."""
        held = self.parked.pop()
        assert self.h1.context.instance_mutex.enter_or_park(held)
        self.h1.perform(held)
        assert self.h1.context.instance_mutex.leave(held.guest.uuid) == []


@pytest.fixture
def copied(tmp_path: Path, settings: Any) -> Copied:
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_DIR": tmp_path / "images"}
    return Copied(tmp_path)


def is_given_back(work: Work, kind: WorkKind) -> bool:
    said = f"it gave way to {kind} of its guest, and begins again afterwards"
    return work.state == WorkState.WAITING and said in work.outcome["error"]


@pytest.mark.parametrize(
    ("action", "kind", "vm_state"),
    [("stop", WorkKind.STOP, "stopped"), ("reboot", WorkKind.REBOOT, "active")],
)
def test_what_ends_the_guest_waits_for_no_copy(copied: Copied, action: str, kind: WorkKind, vm_state: str) -> None:
    backup = backup_create(caller=copied.who.member, request=BackupRequest(copied.volume.pk))

    def asked() -> None:
        copied.act(action)
        copied.park(kind)

    work = copied.copy(asked)
    assert is_given_back(work, kind)
    assert VolumeSnapshot.objects.get().state == "creating"
    assert copied.stepped.held()[1] == ()
    copied.resumed()
    instance = Instance.objects.get(pk=copied.vm.pk)
    assert (instance.vm_state, instance.task_state) == (vm_state, "")
    assert copied.copy().state == WorkState.DONE
    assert (VolumeSnapshot.objects.get().state, copied.stepped.begun) == ("available", 2)
    assert VolumeBackup.objects.get(pk=backup.pk).state == "creating"


def test_guest_that_is_deleted_leaves_a_volume_that_is_copied_afterwards(copied: Copied) -> None:
    snapshot_create(caller=copied.who.member, request=SnapshotRequest(copied.volume.pk))

    def asked() -> None:
        instance_delete(caller=copied.who.member, instance_id=copied.vm.pk)
        copied.park(WorkKind.DELETE)

    assert is_given_back(copied.copy(asked), WorkKind.DELETE)
    copied.resumed()
    assert copied.states()[:2] == ("available", "")
    assert copied.copy().state == WorkState.DONE
    assert VolumeSnapshot.objects.get().state == "available"


def test_other_work_waits_for_a_while(copied: Copied) -> None:
    copied.made("second")
    snapshot_create(caller=copied.who.member, request=SnapshotRequest(copied.volume.pk))
    stages: list[str] = []

    def asked() -> None:
        copied.act(ATTACH, volume="second")
        copied.park(WorkKind.ATTACH_VOLUME)

    def soon() -> None:
        stages.append("it went on when it was asked")
        copied.later(GIVES_WAY_AFTER_S - 1)

    def late() -> None:
        stages.append("it went on for a while")
        copied.later(1)

    work = copied.copy(asked, soon, late, lambda: stages.append("it went on for ever"))
    assert stages == ["it went on when it was asked", "it went on for a while"]
    assert is_given_back(work, WorkKind.ATTACH_VOLUME)
    copied.resumed()
    assert len(copied.guest_has()) == 2
    assert copied.copy().state == WorkState.DONE


def test_picture_and_cancelled_work_end_no_copy(copied: Copied) -> None:
    snapshot_create(caller=copied.who.member, request=SnapshotRequest(copied.volume.pk))

    def asked() -> None:
        screenshot_request(caller=copied.who.member, instance_id=copied.vm.pk)
        copied.park(WorkKind.SCREENSHOT)
        copied.act("stop")
        copied.park(WorkKind.STOP)
        copied.parked[-1].fence()

    work = copied.copy(asked, lambda: copied.later(GIVES_WAY_AFTER_S), lambda: copied.later(GIVES_WAY_AFTER_S))
    assert (work.state, VolumeSnapshot.objects.get().state) == (WorkState.DONE, "available")
