"""A hypervisor without a hypervisor: guests are entries in memory, and in a file if they are to survive.

For tests and benches of everything above the drivers, and to try pinned CPUs, huge pages and PCI devices without
having any. It verifies images as the real ones do, because that is a part of the contract, and keeps only their
checksums; where a guest was placed, it keeps with the guest.
"""

import hashlib
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from computeagent.drivers.base import Check, CopyProgress, DriverError, GuestNotice, ImageSource, always
from computeagent.drivers.device_spec import devices_chosen
from computeagent.drivers.device_traits import SIMULATED
from computeagent.drivers.fake_console import echoing_console
from computeagent.drivers.fake_counters import fake_counters
from computeagent.drivers.fake_devices import ON, FakeDevices, connected, volume_bytes
from computeagent.drivers.fake_guest import FakeGuest
from computeagent.drivers.fake_hardware import FakeSizes, fake_cells, fake_devices
from computeagent.drivers.fake_journal import GuestJournal
from computeagent.drivers.fake_snapshots import FakeSnapshots
from computeagent.drivers.host_cells import has_threads, host_topology, online_cpus
from computeagent.drivers.host_options import HostOptions
from computeagent.drivers.rescue_image import of_rescue_image
from computeagent.drivers.screen_png import png_of
from computeagent.drivers.user_data import injected_files, user_data_bytes
from computeagent.protocol.consoles import GUEST_OFF, ConsoleKind
from computeagent.protocol.guest_config import BootFile
from computeagent.protocol.guests import GuestCounters, GuestFacts, GuestOnHypervisor, GuestSpec
from computeagent.protocol.hosts import HostReport
from computeagent.protocol.images import CachedImage, WantedImage
from computeagent.protocol.power import PowerState, StateReason
from computeagent.protocol.steps import FailureClass
from computeagent.protocol.topology_json import guest_to_dict
from controlplane.kernel.booleans import is_true

HYPERVISOR_VERSION = 1_000_000
ARCH = "x86_64"
TRAITS = tuple(sorted({"COMPUTE_ARCH_X86_64", "HW_ARCH_X86_64", *SIMULATED}))


THREADS_TRAIT = "HW_CPU_HYPERTHREADING"
NO_OPTIONS = HostOptions()


class FakeDriver(FakeDevices):
    """A Driver whose verbs each take `latency_s` seconds. `state_file` belongs to one driver at a time.

    `options` are what an operator sets aside of the fake machine, as of a real one.
    """

    def __init__(
        self,
        hypervisor_hostname: str,
        *,
        sizes: FakeSizes | None = None,
        latency_s: float = 0.0,
        state_file: Path | None = None,
        options: HostOptions = NO_OPTIONS,
    ) -> None:
        self._options = options
        self._hostname = hypervisor_hostname
        self._sizes = sizes or FakeSizes()
        self._latency_s = latency_s
        self._journal = GuestJournal(state_file) if state_file is not None else None
        self._state_file = state_file
        self._lock = threading.RLock()
        self._guests: dict[str, FakeGuest] = {}
        self._images: dict[str, int] = {}
        self._snapshots = FakeSnapshots()
        self.unresponsive: set[str] = set()
        self.passwords: dict[str, tuple[str, str]] = {}
        self._began_at = time.monotonic()
        self._notice: GuestNotice = lambda _guest_uuid: None

    def open(self) -> None:
        """Load the guests that an earlier driver left in the state file."""
        if self._journal is None:
            return
        try:
            self._guests = {entry["uuid"]: FakeGuest(**entry) for entry in self._journal.load()}
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise DriverError(f"cannot read {self._state_file}: {error}") from error

    def close(self) -> None:
        """Nothing to let go of."""

    def watch(self, notice: GuestNotice) -> None:
        """Tell of each change of a guest."""
        self._notice = notice

    def happen(self, guest_uuid: str, state: PowerState, *, reason: str = "", details: str = "") -> None:
        """The guest gets into this state by itself, as one does that is shut down from within, or crashes."""
        with self._lock:
            guest = self._guests[guest_uuid]
            fired = guest.watchdog_fired + (reason == StateReason.WATCHDOG)
            self._guests[guest_uuid] = replace(
                guest, power_state=state.value, reason=reason, details=details, watchdog_fired=fired
            )
            self._save(guest_uuid)

    def host_report(self) -> HostReport:
        """The sizes given to the constructor, and what the guests take of them."""
        with self._lock:
            guests = list(self._guests.values())
        active = [guest for guest in guests if guest.power_state == PowerState.RUNNING]
        disk_used_gib = sum(guest.disk_gib for guest in guests)
        return replace(
            self._machine,
            vcpus_used=sum(guest.vcpus for guest in active),
            memory_used_mib=sum(guest.memory_mib for guest in active),
            disk_used_gib=disk_used_gib,
            disk_available_least_gib=self._sizes.disk_gib - disk_used_gib,
            running_guests=len(active),
        )

    @cached_property
    def _machine(self) -> HostReport:
        """What no guest changes."""
        cells = fake_cells(self._sizes)
        online = online_cpus(cells, self._sizes.vcpus)
        return HostReport(
            hypervisor_hostname=self._hostname,
            hypervisor_type="fake",
            hypervisor_version=HYPERVISOR_VERSION,
            vcpus=len(self._options.shared_cpus(online)),
            memory_mib=self._sizes.memory_mib,
            disk_gib=self._sizes.disk_gib,
            virt_type="fake",
            arch=ARCH,
            cpu_info={"arch": ARCH, "model": "fake", "vendor": "fake", "features": []},
            supported_instances=((ARCH, "fake", "hvm"),),
            traits=(*TRAITS, *((THREADS_TRAIT,) if has_threads(cells) else ())),
            numa_topology=host_topology(cells, self._options),
            pci_devices=devices_chosen(fake_devices(self._sizes), self._options.device_specs),
            dedicated_vcpus=len(self._options.dedicated_cpus(online)),
            vgpus=self._sizes.vgpus or None,
        )

    def cache_image(self, image: WantedImage, source: ImageSource) -> Path | None:
        """As for a guest."""
        self._verified(image, source)
        return None

    def cached_images(self) -> list[CachedImage]:
        """What was verified, as large as it was; no guest is really made of it."""
        with self._lock:
            return [CachedImage(checksum, size_bytes) for checksum, size_bytes in sorted(self._images.items())]

    def prepare_image(self, guest: GuestSpec, source: ImageSource) -> None:
        """Read the image once and verify its checksum. Raises DriverError (NETWORK) when it differs."""
        self._verified(guest, source)

    def _verified(self, file: GuestSpec | BootFile | WantedImage, source: ImageSource) -> None:
        checksum = file.image_checksum.removeprefix("sha256:").lower()
        with self._lock:
            if checksum in self._images:
                return
            digest, size_bytes = hashlib.sha256(), 0
            for chunk in source():
                digest.update(chunk)
                size_bytes += len(chunk)
            if digest.hexdigest() != checksum:
                raise DriverError(
                    f"image {file.image_id} does not match its checksum", failure_class=FailureClass.NETWORK
                )
            self._images[checksum] = size_bytes

    def prepare_boot_file(self, file: BootFile, source: ImageSource) -> None:
        """Read it once and verify its checksum. Raises DriverError (NETWORK) when it differs."""
        self._verified(file, source)

    def prepare_disks(self, guest: GuestSpec) -> None:
        """No disks; takes its time, and reads user data and files as whoever writes a config drive does."""
        user_data_bytes(guest)
        injected_files(guest)
        self._pause()

    def spawn(self, guest: GuestSpec) -> GuestFacts:
        """Have the guest running."""
        self._pause()
        return self._running(guest)

    def destroy(self, guest_uuid: str) -> None:
        """Forget the guest."""
        self._pause()
        with self._lock:
            self._snapshots.forget(guest_uuid)
            if self._guests.pop(guest_uuid, None) is not None:
                self._save(guest_uuid)

    def start(self, guest: GuestSpec) -> GuestFacts:
        """Have the guest running."""
        self._pause()
        return self._running(guest)

    def stop(
        self, guest_uuid: str, *, grace_s: float, check: Check = always, plug_pulled: Callable[[], None] = always
    ) -> GuestFacts:
        """Have the guest off; it obeys at once."""
        del grace_s, check, plug_pulled
        self._pause()
        with self._lock:
            guest = self._guests.get(guest_uuid)
            if guest is not None:
                self._guests[guest_uuid] = replace(guest, power_state=PowerState.SHUTDOWN.value, reason="", details="")
                self._save(guest_uuid)
        return GuestFacts(power_state=PowerState.SHUTDOWN)

    def hard_reboot(self, guest: GuestSpec) -> GuestFacts:
        """Off and on."""
        self._pause()
        return self._running(guest)

    def define(self, guest: GuestSpec) -> GuestFacts:
        """Have the guest, off."""
        self._pause()
        return self._running(guest, PowerState.SHUTDOWN)

    def rescue(self, guest: GuestSpec) -> GuestFacts:
        """Have the guest running, in rescue."""
        self._pause()
        of_rescue_image(guest)
        return self._running(guest)

    def set_password(self, guest: GuestSpec, *, user: str, password: str) -> None:
        """A fake guest has an agent if its image says so, and if it runs."""
        self._pause()
        with self._lock:
            known = self._guests.get(guest.uuid)
        has_agent = is_true(guest.image_properties.get("hw_qemu_guest_agent"))
        if not has_agent or known is None or known.power_state != PowerState.RUNNING:
            raise DriverError(f"guest {guest.uuid} has no agent that answers", failure_class=FailureClass.USER)
        del user, password

    def pause(self, guest_uuid: str) -> GuestFacts:
        """Have the guest paused."""
        return self._changed(guest_uuid, PowerState.PAUSED, of=(PowerState.RUNNING,))

    def unpause(self, guest_uuid: str) -> GuestFacts:
        """Have the guest running."""
        return self._changed(guest_uuid, PowerState.RUNNING, of=(PowerState.PAUSED,))

    def inject_nmi(self, guest_uuid: str) -> GuestFacts:
        """Nothing is inside that would crash."""
        facts = self.facts(guest_uuid)
        if facts is None or facts.power_state not in ON:
            raise DriverError(f"guest {guest_uuid} is off", failure_class=FailureClass.USER)
        return facts

    def suspend(self, guest_uuid: str) -> GuestFacts:
        """Have the guest off with its memory saved, which a fake one has none of."""
        with self._lock:
            guest = self._guests.get(guest_uuid)
            if guest is not None and guest.is_memory_saved:
                return GuestFacts(power_state=PowerState.SHUTDOWN)
        return self._changed(
            guest_uuid, PowerState.SHUTDOWN, of=(PowerState.RUNNING, PowerState.PAUSED), is_memory_saved=True
        )

    def resume(self, guest: GuestSpec) -> GuestFacts:
        """Have the guest running."""
        self._pause()
        return self._running(guest)

    def snapshot(self, guest: GuestSpec, image_id: str, progress: CopyProgress) -> None:
        """A blank disk, kept in memory: a driver that is opened anew makes it again."""
        self._pause()
        with self._lock:
            if guest.uuid not in self._guests:
                raise DriverError(f"guest {guest.uuid} is not there")
        self._snapshots.make(guest, image_id, progress)

    def snapshot_open(self, guest_uuid: str, image_id: str) -> BinaryIO:
        """From memory."""
        return self._snapshots.open(guest_uuid, image_id)

    def snapshot_remove(self, guest_uuid: str, image_id: str) -> None:
        """Forget it."""
        self._snapshots.remove(guest_uuid, image_id)

    def facts(self, guest_uuid: str) -> GuestFacts | None:
        """The power state; None when there is no such guest."""
        with self._lock:
            guest = self._guests.get(guest_uuid)
        return None if guest is None else _facts(guest)

    def guests(self) -> list[GuestOnHypervisor]:
        """Every guest."""
        with self._lock:
            return [
                GuestOnHypervisor(guest.uuid, guest.name, PowerState(guest.power_state))
                for guest in self._guests.values()
            ]

    def guest_counters(self) -> dict[str, GuestCounters]:
        """Of guests that run: each uses a quarter of its vCPUs and three quarters of its memory, and talks a little,
        for as long as this driver has been open.
        """
        seconds = time.monotonic() - self._began_at
        with self._lock:
            guests = list(self._guests.values())
        running = [guest for guest in guests if guest.power_state == PowerState.RUNNING]
        return {guest.uuid: fake_counters(seconds, vcpus=guest.vcpus, memory_mib=guest.memory_mib) for guest in running}

    def screenshot(self, guest_uuid: str) -> bytes:
        """A screen of one color, another one for each guest."""
        with self._lock:
            guest = self._guests.get(guest_uuid)
        if guest is None or guest.power_state not in (PowerState.RUNNING, PowerState.PAUSED):
            raise DriverError(f"guest {guest_uuid} is off, so it has no screen")
        return png_of([hashlib.sha256(guest_uuid.encode()).digest()[:3] * 64] * 48)

    def console_open(self, guest_uuid: str, kind: ConsoleKind) -> int:
        """What is typed comes back."""
        with self._lock:
            guest = self._guests.get(guest_uuid)
        if guest is None or guest.power_state not in (PowerState.RUNNING, PowerState.PAUSED):
            raise DriverError(GUEST_OFF, failure_class=FailureClass.USER)
        return echoing_console(f"{kind} of {guest.name}\r\n")

    def console_log(self, guest_uuid: str, *, max_bytes: int) -> bytes:
        """Some lines, so that a log is there to be shown, and its end to be asked for."""
        with self._lock:
            guest = self._guests.get(guest_uuid)
        if guest is None:
            return b""
        said = (f"fake guest {guest.name}", "no kernel", "no disks", "no network", "nothing else will be said")
        return "".join(f"{line}\n" for line in said).encode(errors="replace")[-max_bytes:]

    def _changed(
        self, guest_uuid: str, state: PowerState, *, of: tuple[PowerState, ...], is_memory_saved: bool = False
    ) -> GuestFacts:
        """Have a guest in this state that was in one of those, or in this already. Raises DriverError."""
        self._pause()
        with self._lock:
            guest = self._guests.get(guest_uuid)
            if guest is None or guest.power_state not in (*of, *(() if is_memory_saved else (state,))):
                raise DriverError(f"guest {guest_uuid} is {guest.power_state if guest else 'not there'}")
            self._guests[guest_uuid] = replace(
                guest, power_state=state.value, is_memory_saved=is_memory_saved, reason="", details=""
            )
            self._save(guest_uuid)
        return GuestFacts(power_state=state)

    def _running(self, guest: GuestSpec, state: PowerState = PowerState.RUNNING) -> GuestFacts:
        with self._lock:
            taken = sum(other.vgpus for other in self._guests.values() if other.uuid != guest.uuid)
            if guest.vgpus > self._sizes.vgpus - taken:
                raise DriverError(f"this host has {self._sizes.vgpus - taken} of {guest.vgpus} virtual GPUs left")
            known = self._guests[guest.uuid] = FakeGuest(
                uuid=guest.uuid,
                name=guest.name,
                vcpus=guest.vcpus,
                memory_mib=guest.memory_mib,
                disk_gib=guest.root_gib + guest.ephemeral_gib,
                power_state=state.value,
                numa_topology=None if guest.numa_topology is None else guest_to_dict(guest.numa_topology),
                pci_devices=[asdict(device) for device in guest.pci_devices],
                is_rescued=guest.rescue is not None,
                vgpus=guest.vgpus,
                macs=[port.mac for port in guest.ports],
                volumes={one.volume.id: volume_bytes(connected(one)) for one in guest.volumes},
            )
            self._save(guest.uuid)
        return _facts(known)

    def _pause(self) -> None:
        if self._latency_s:
            time.sleep(self._latency_s)

    def _save(self, guest_uuid: str) -> None:
        """Called with the lock held, after each change of a guest."""
        self._notice(guest_uuid)
        if self._journal is None:
            return
        guest = self._guests.get(guest_uuid)
        try:
            if guest is None:
                self._journal.drop(guest_uuid)
            else:
                self._journal.put(asdict(guest))
        except OSError as error:
            raise DriverError(f"cannot write {self._state_file}: {error}") from error


def _facts(guest: FakeGuest) -> GuestFacts:
    state = PowerState(guest.power_state)
    return GuestFacts(
        state,
        reason=guest.reason,
        details=guest.details,
        watchdog_fired=guest.watchdog_fired,
        volumes=tuple(guest.volumes) if state in ON else None,
    )
