"""The Protocol of a hypervisor driver: idempotent verbs, named by instance uuid.

'Already so' is success everywhere: spawning a guest that runs, destroying one that is gone. A driver raises
`DriverError` with a failure class; anything else it raises is the host's fault if the guest is then built elsewhere.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Protocol

from computeagent.protocol.consoles import ConsoleKind
from computeagent.protocol.guest_config import BootFile
from computeagent.protocol.guests import GuestCounters, GuestFacts, GuestOnHypervisor, GuestSpec, PortSpec
from computeagent.protocol.hosts import HostReport
from computeagent.protocol.images import CachedImage, WantedImage
from computeagent.protocol.steps import FailureClass, HostBlame
from computeagent.protocol.volumes import GuestVolume, VolumeFacts

GuestNotice = Callable[[str | None], None]
ProgressCallback = Callable[[str], None]
CopyProgress = Callable[[int, int], None]
"""Told how many bytes are done, and of how many."""
Check = Callable[[], None]
"""Called while a verb waits; what it raises (Fenced) ends the waiting."""


class ImageSource(Protocol):
    """Where the bytes of an image come from."""

    def __call__(self, offset: int = 0) -> Iterator[bytes]:
        """Those from `offset` on. Raises Unavailable, Fenced, at the first or while they are read."""


def always() -> None:
    """A check of who may wait to the end."""


class DriverError(Exception):
    """A verb failed. `failure_class` says whose fault it is, `blame` when that counts against the host; `details` are
    for administrators alone.
    """

    def __init__(
        self,
        message: str,
        *,
        failure_class: FailureClass = FailureClass.HOST,
        blame: HostBlame = HostBlame.IF_BUILT_ELSEWHERE,
        details: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.failure_class = failure_class
        self.blame = blame
        self.details = details


class ForeignGuest(DriverError):
    """The hypervisor has a guest of this uuid that is not ours."""


class Driver(Protocol):
    """One hypervisor. Verbs may be called from several threads; a verb on one guest is called by one at a time."""

    def open(self) -> None:
        """Connect; called once, before anything else."""

    def close(self) -> None:
        """Let go of the connection. Guests keep running."""

    def watch(self, notice: GuestNotice) -> None:
        """From now on call `notice` with the uuid of each guest whose power state may have changed, ours or not, and
        with None when any may have (a connection that was lost and is back). Called after `open`; only
        the last `notice` counts.

        `notice` is called by threads of the driver, also for what its own verbs do: it returns at once and calls no
        verb. Events are a service, not a promise: who needs the truth looks at the guests now and then.
        """

    def host_report(self) -> HostReport:
        """What this hypervisor is and has now."""

    def prepare_image(self, guest: GuestSpec, source: ImageSource) -> None:
        """Have the image's base file in the cache, checksum verified. Two callers for one image wait for each other."""

    def prepare_boot_file(self, file: BootFile, source: ImageSource) -> None:
        """Have this kernel or initial RAM disk in the cache, checksum verified, as `prepare_image`."""

    def cache_image(self, image: WantedImage, source: ImageSource) -> Path | None:
        """Have a base image in the cache, verified, before any guest needs it. One that is there is a success. Answers
        where its base file is; None where guests are made of no files, and nothing was read.
        """

    def cached_images(self) -> list[CachedImage]:
        """The base images that are in the cache; none where there is no cache."""

    def prepare_disks(self, guest: GuestSpec) -> None:
        """Overlay, ephemeral and swap disks, the config drive of this guest, and the files that it boots by; replaces
        half-made ones.
        """

    def spawn(self, guest: GuestSpec) -> GuestFacts:
        """Define and start the guest from its disks. A running guest of this uuid is a success."""

    def destroy(self, guest_uuid: str) -> None:
        """Stop and undefine the guest and remove every file of it. Nothing there is a success."""

    def start(self, guest: GuestSpec) -> GuestFacts:
        """Power on."""

    def stop(
        self, guest_uuid: str, *, grace_s: float, check: Check = always, plug_pulled: Callable[[], None] = always
    ) -> GuestFacts:
        """Power off: ask the guest first, pull the plug after `grace_s` seconds, or at once where that is 0.

        `check` is called while the guest takes its time: what it raises ends the wait, and the plug is not pulled.
        `plug_pulled` is called before it is pulled of a guest that was given time.
        """

    def hard_reboot(self, guest: GuestSpec) -> GuestFacts:
        """Power off and on, with a freshly made definition; memory that was saved is thrown away, and so is the disk of
        a rescue that is over (a guest without `rescue`).
        """

    def pause(self, guest_uuid: str) -> GuestFacts:
        """Stand still, memory kept. Raises DriverError for a guest that does not run."""

    def unpause(self, guest_uuid: str) -> GuestFacts:
        """Run on after a pause. Raises DriverError for a guest that is off."""

    def suspend(self, guest_uuid: str) -> GuestFacts:
        """Save the memory on the host's disk and power off. Raises DriverError for a guest that is off."""

    def resume(self, guest: GuestSpec) -> GuestFacts:
        """Run on from the saved memory; power on where none was saved, as Nova does."""

    def snapshot(self, guest: GuestSpec, image_id: str, progress: CopyProgress) -> None:
        """Have a copy of the guest's root disk as it is at one moment, whole by itself, for this image. A guest that
        runs goes on meanwhile. A copy that is there already is a success; those for other images are removed.

        `progress` is called now and then; what it raises ends the copying, with nothing left of it.
        """

    def snapshot_open(self, guest_uuid: str, image_id: str) -> BinaryIO:
        """The bytes of the copy. Raises DriverError when there is none."""

    def snapshot_remove(self, guest_uuid: str, image_id: str) -> None:
        """Remove the copy. Nothing there is a success."""

    def define(self, guest: GuestSpec) -> GuestFacts:
        """Know the guest by its disks, and leave it off. A guest that is there already is defined anew."""

    def rescue(self, guest: GuestSpec) -> GuestFacts:
        """Pull the plug, make the rescue disk from `guest.rescue`, whose base file `prepare_image` has brought, and
        boot from it, the guest's own disks beside it. All verbs that start a guest which has `rescue` boot so.
        """

    def set_password(self, guest: GuestSpec, *, user: str, password: str) -> None:
        """Have the guest's own agent set the password. Raises DriverError: class USER where it has none, or it does not
        answer in time. The password is in no message.
        """

    def inject_nmi(self, guest_uuid: str) -> GuestFacts:
        """Send a non-maskable interrupt, on which a guest that is set up for it dumps its memory. Raises DriverError:
        class USER for a guest that is off, and for a hypervisor that sends none.
        """

    def attach_interface(self, guest: GuestSpec, port_id: str) -> GuestFacts:
        """Have the card of this port of the guest, in one that runs at once. One that is there is a success; a guest
        that is off gets it with its next start. Raises DriverError, and then the card is not there.
        """

    def detach_interface(self, guest: GuestSpec, port_id: str, *, timeout_s: float) -> GuestFacts:
        """Have no card of this port, which the guest has still. Raises DriverError: class USER where a guest that runs
        does not let go of it within `timeout_s` seconds.
        """

    def attach_volume(self, guest: GuestSpec, volume_id: str) -> GuestFacts:
        """Have this volume of the guest, which is connected, in one that runs at once. One that is there is a success;
        a guest that is off gets it with its next start. Raises DriverError, and then the disk is not there.
        """

    def detach_volume(self, guest: GuestSpec, volume_id: str, *, timeout_s: float) -> GuestFacts:
        """Have no disk of this volume, which the guest has still. Raises DriverError: class USER where a guest that
        runs does not let go of it within `timeout_s` seconds; it keeps the disk, and the next call asks again. A guest
        that is not there has no disk.
        """

    def resize_volume(self, guest: GuestSpec, volume_id: str, size_bytes: int) -> None:
        """Have the volume at least so large, for a guest that runs and sees it at once. Raises DriverError for one that
        is off, or does not have the volume.
        """

    def limit_volume(self, guest: GuestSpec, volume_id: str) -> None:
        """Have the volume's limits (`qos`) count from now on. Raises DriverError for a guest that is off."""

    def copy_volume(self, guest: GuestSpec, volume_id: str, target: Path, progress: CopyProgress) -> VolumeFacts:
        """Have a copy of the volume, as it is at one moment, in this file, in place of what is there. The guest has the
        volume and goes on; its file systems stand still while the copy begins, if it has an agent that can be asked.

        `progress` is called now and then; what it raises ends the copying, with nothing left of it. Raises DriverError
        for a guest that is off, or does not have the volume.
        """

    def quiesce(self, guest: GuestSpec, take: Callable[[], VolumeFacts]) -> VolumeFacts:
        """Do `take`, which is quick, while the file systems of a guest that is on stand still, if it has an agent that
        can be asked; what `take` says, with whether they did and for how long. Raises DriverError, also where they must
        stand still and do not.
        """

    def volumes_of_guests(self) -> dict[str, tuple[str, ...]]:
        """Which volumes guests of ours that are on really have, by uuid."""

    def facts(self, guest_uuid: str) -> GuestFacts | None:
        """Power state, addresses if known, console; None when there is no such guest."""

    def guests(self) -> list[GuestOnHypervisor]:
        """Every guest of ours on this hypervisor, running or not."""

    def guest_counters(self) -> dict[str, GuestCounters]:
        """What every guest of ours that is on has used, by uuid, asked of the hypervisor at once. A guest that does not
        answer is left out; a hypervisor that counts nothing has none.
        """

    def screenshot(self, guest_uuid: str) -> bytes:
        """A PNG of what is on the guest's screen now, of at most a MiB. Raises DriverError for a guest that is off, and
        for one without a screen.
        """

    def console_open(self, guest_uuid: str, kind: ConsoleKind) -> int:
        """A file descriptor of the guest's screen (RFB, no password) or first serial port, to read, write and close.
        Raises DriverError for a guest that is off.
        """

    def console_log(self, guest_uuid: str, *, max_bytes: int) -> bytes:
        """The end of the guest's serial log; empty when it has written nothing."""


def port_of(guest: GuestSpec, port_id: str) -> PortSpec:
    """The guest's port of this id. Raises DriverError (USER) where it has none."""
    found = next((port for port in guest.ports if port.id == port_id), None) if port_id else None
    if found is None:
        raise DriverError(f"guest {guest.uuid} has no port {port_id!r:.60}", failure_class=FailureClass.USER)
    return found


def volume_of(guest: GuestSpec, volume_id: str) -> GuestVolume:
    """The guest's volume of this id. Raises DriverError (USER) where it has none."""
    found = next((volume for volume in guest.volumes if volume.volume.id == volume_id), None)
    if found is None:
        raise DriverError(f"guest {guest.uuid} has no volume {volume_id!r:.60}", failure_class=FailureClass.USER)
    return found
