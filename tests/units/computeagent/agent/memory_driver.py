"""A hypervisor in memory for the agent's tests: it can fail at a verb, hang at a verb, and lose its guests."""

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from computeagent.drivers.base import (
    Check,
    CopyProgress,
    DriverError,
    ForeignGuest,
    GuestNotice,
    ImageSource,
    always,
)
from computeagent.protocol.guest_config import BootFile, FirstBoot
from computeagent.protocol.guests import GuestCounters, GuestFacts, GuestOnHypervisor, GuestSpec
from computeagent.protocol.hosts import HostReport
from computeagent.protocol.images import CachedImage, WantedImage
from computeagent.protocol.power import PowerState
from computeagent.protocol.topology import HostTopology
from computeagent.protocol.volumes import VolumeFacts
from tests.fixtures.patience import PATIENCE_S


class MemoryDriver:
    """Guests by uuid. `failures[verb]` are raised one after the other, `gates[verb]` are waited for."""

    def __init__(self, *, memory_mib: int = 4096) -> None:
        self.memory_mib = memory_mib
        self.numa_topology: HostTopology | None = None
        self.running: dict[str, PowerState] = {}
        self.disks: set[str] = set()
        self.logs: dict[str, bytes] = {}
        self.verbs: list[str] = []
        self.counter_reads = 0
        self.grace_s: list[float] = []
        self.deaf: set[str] = set()
        """Guests that do not power off when they are asked to."""
        self.images: list[bytes] = []
        self.passwords: list[tuple[str, str]] = []
        self.first_boots: list[FirstBoot] = []
        self.images_present: dict[str, bytes] = {}
        self.images_begun: dict[str, bytes] = {}
        self.failures: dict[str, list[Exception]] = {}
        self.gates: dict[str, threading.Event] = {}
        self.entered: dict[str, threading.Event] = {}
        self.volumes: dict[str, list[str]] = {}
        self.sizes: dict[str, int] = {}
        self.sick: set[str] = set()
        self.unlisted: set[str] = set()
        self.foreign: set[str] = set()
        self.notice: GuestNotice = lambda _guest_uuid: None
        self.on_destroy: Callable[[], None] = lambda: None
        self.on_facts: Callable[[], None] = lambda: None

    def gate(self, verb: str) -> threading.Event:
        """Make `verb` wait; the answer opens it."""
        self.entered[verb] = threading.Event()
        self.gates[verb] = threading.Event()
        return self.gates[verb]

    def _begin(self, verb: str) -> None:
        self.verbs.append(verb)
        if (gate := self.gates.get(verb)) is not None:
            self.entered[verb].set()
            gate.wait(PATIENCE_S)
        if waiting := self.failures.get(verb):
            raise waiting.pop(0)

    def _facts(self, guest_uuid: str) -> GuestFacts:
        return GuestFacts(power_state=self.running[guest_uuid])

    def opened(self) -> "MemoryDriver":
        """Itself, open."""
        self.open()
        return self

    def open(self) -> None:
        """See Driver."""
        self._begin("open")

    def close(self) -> None:
        """See Driver."""
        self._begin("close")

    def watch(self, notice: GuestNotice) -> None:
        """See Driver."""
        self.notice = notice

    def happen(self, guest_uuid: str, state: PowerState) -> None:
        """The guest gets into this state by itself, and the hypervisor says so."""
        self.running[guest_uuid] = state
        self.notice(guest_uuid)

    def host_report(self) -> HostReport:
        """See Driver."""
        return HostReport(
            "h1", "memory", 1, vcpus=4, memory_mib=self.memory_mib, disk_gib=100, numa_topology=self.numa_topology
        )

    def prepare_image(self, guest: GuestSpec, source: ImageSource) -> None:
        """See Driver."""
        self._begin("prepare_image")
        data = self._whole(guest.image_checksum, source)
        if not data:
            raise DriverError("empty image")
        self.images.append(data)

    def prepare_boot_file(self, file: BootFile, source: ImageSource) -> None:
        """See Driver."""
        self._begin("prepare_boot_file")
        self.images.append(b"".join(source()))

    def prepare_disks(self, guest: GuestSpec) -> None:
        """See Driver."""
        self._begin("prepare_disks")
        self.disks.add(guest.uuid)
        self.first_boots.append(guest.first_boot)

    def spawn(self, guest: GuestSpec) -> GuestFacts:
        """See Driver."""
        self._begin("spawn")
        self.running[guest.uuid] = PowerState.RUNNING
        return self._facts(guest.uuid)

    def destroy(self, guest_uuid: str) -> None:
        """See Driver."""
        self._begin("destroy")
        self.on_destroy()
        self.running.pop(guest_uuid, None)
        self.disks.discard(guest_uuid)

    def start(self, guest: GuestSpec) -> GuestFacts:
        """See Driver."""
        self._begin("start")
        self.running[guest.uuid] = PowerState.RUNNING
        return self._facts(guest.uuid)

    def stop(
        self, guest_uuid: str, *, grace_s: float, check: Check = always, plug_pulled: Callable[[], None] = always
    ) -> GuestFacts:
        """See Driver."""
        self._begin("stop")
        self.grace_s.append(grace_s)
        deadline = time.monotonic() + grace_s
        while guest_uuid in self.deaf and time.monotonic() < deadline:
            check()
            time.sleep(0.01)
        if guest_uuid in self.deaf:
            plug_pulled()
        self.running[guest_uuid] = PowerState.SHUTDOWN
        return self._facts(guest_uuid)

    def hard_reboot(self, guest: GuestSpec) -> GuestFacts:
        """See Driver."""
        self._begin("hard_reboot")
        self.running[guest.uuid] = PowerState.RUNNING
        return self._facts(guest.uuid)

    def define(self, guest: GuestSpec) -> GuestFacts:
        """See Driver."""
        return self._become("define", guest.uuid, PowerState.SHUTDOWN)

    def rescue(self, guest: GuestSpec) -> GuestFacts:
        """See Driver."""
        self.first_boots.append(guest.first_boot)
        return self._become("rescue", guest.uuid, PowerState.RUNNING)

    def set_password(self, guest: GuestSpec, *, user: str, password: str) -> None:
        """See Driver."""
        self._begin("set_password")
        self.passwords.append((user, password))

    def inject_nmi(self, guest_uuid: str) -> GuestFacts:
        """See Driver."""
        self._begin("inject_nmi")
        return self._facts(guest_uuid)

    def pause(self, guest_uuid: str) -> GuestFacts:
        """See Driver."""
        return self._become("pause", guest_uuid, PowerState.PAUSED)

    def unpause(self, guest_uuid: str) -> GuestFacts:
        """See Driver."""
        return self._become("unpause", guest_uuid, PowerState.RUNNING)

    def suspend(self, guest_uuid: str) -> GuestFacts:
        """See Driver."""
        return self._become("suspend", guest_uuid, PowerState.SHUTDOWN)

    def resume(self, guest: GuestSpec) -> GuestFacts:
        """See Driver."""
        return self._become("resume", guest.uuid, PowerState.RUNNING)

    def attach_volume(self, guest: GuestSpec, volume_id: str) -> GuestFacts:
        """See Driver."""
        self._begin("attach_volume")
        self.volumes.setdefault(guest.uuid, []).append(volume_id)
        return self._facts(guest.uuid)

    def detach_volume(self, guest: GuestSpec, volume_id: str, *, timeout_s: float) -> GuestFacts:
        """See Driver."""
        del timeout_s
        self._begin("detach_volume")
        self.volumes[guest.uuid].remove(volume_id)
        return self._facts(guest.uuid)

    def resize_volume(self, guest: GuestSpec, volume_id: str, size_bytes: int) -> None:
        """See Driver."""
        self._begin("resize_volume")
        self.sizes[volume_id] = size_bytes

    def limit_volume(self, guest: GuestSpec, volume_id: str) -> None:
        """See Driver."""
        self._begin("limit_volume")

    def copy_volume(self, guest: GuestSpec, volume_id: str, target: Path, progress: CopyProgress) -> VolumeFacts:
        """See Driver."""
        self._begin("copy_volume")
        progress(1, 1)
        target.write_bytes(volume_id.encode())
        return VolumeFacts(is_consistent=True, frozen_ms=7)

    def quiesce(self, guest: GuestSpec, take: Callable[[], VolumeFacts]) -> VolumeFacts:
        """See Driver."""
        self._begin("quiesce")
        return replace(take(), is_consistent=True, frozen_ms=5)

    def volumes_of_guests(self) -> dict[str, tuple[str, ...]]:
        """See Driver."""
        self._begin("volumes_of_guests")
        return {guest: tuple(volumes) for guest, volumes in self.volumes.items()}

    def _become(self, verb: str, guest_uuid: str, state: PowerState) -> GuestFacts:
        self._begin(verb)
        self.running[guest_uuid] = state
        return self._facts(guest_uuid)

    def facts(self, guest_uuid: str) -> GuestFacts | None:
        """See Driver. `sick` guests cannot be read, `foreign` ones are not ours; `unlisted` ones are there, and no
        listing names them.
        """
        if guest_uuid in self.foreign:
            raise ForeignGuest("not ours")
        if guest_uuid in self.sick:
            raise DriverError(f"cannot acquire the state change lock of {guest_uuid}")
        found = self._facts(guest_uuid) if guest_uuid in self.running else None
        self.on_facts()
        return found

    def guests(self) -> list[GuestOnHypervisor]:
        """See Driver."""
        if waiting := self.failures.get("guests"):
            raise waiting.pop(0)
        running = [(uuid, state) for uuid, state in list(self.running.items()) if uuid not in self.unlisted]
        return [GuestOnHypervisor(uuid, uuid, state) for uuid, state in running]

    def cache_image(self, image: WantedImage, source: ImageSource) -> Path | None:
        """See Driver."""
        if waiting := self.failures.get("cache_image"):
            raise waiting.pop(0)
        self.images_present[image.image_checksum] = self._whole(image.image_checksum, source)
        return None

    def _whole(self, checksum: str, source: ImageSource) -> bytes:
        begun = self.images_begun.get(checksum, b"")
        return begun + b"".join(source(len(begun)))

    def cached_images(self) -> list[CachedImage]:
        """See Driver."""
        return [CachedImage(checksum, len(data)) for checksum, data in sorted(self.images_present.items())]

    def guest_counters(self) -> dict[str, GuestCounters]:
        """See Driver."""
        self.counter_reads += 1
        return {uuid: GuestCounters(cpu_ns=1) for uuid, state in self.running.items() if state is PowerState.RUNNING}

    def screenshot(self, guest_uuid: str) -> bytes:
        """See Driver."""
        self._begin("screenshot")
        return b"\x89PNG\r\n\x1a\n" + guest_uuid.encode()

    def console_log(self, guest_uuid: str, *, max_bytes: int) -> bytes:
        """See Driver."""
        return self.logs.get(guest_uuid, b"")[-max_bytes:]
