"""A hypervisor without a hypervisor: guests are entries in memory, and in a file if they are to survive.

For tests and benches of everything above the drivers, and to try pinned CPUs, huge pages and PCI devices without
having any. It verifies images as the real ones do, because that is a part of the contract, and keeps only their
checksums; where a guest was placed, it keeps with the guest.
"""

import hashlib
import threading
import time
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path

from computeagent.drivers.base import DriverError, GuestNotice, ImageSource
from computeagent.drivers.device_spec import devices_chosen
from computeagent.drivers.fake_hardware import FakeSizes, fake_cells, fake_devices
from computeagent.drivers.fake_journal import GuestJournal
from computeagent.drivers.host_cells import has_threads, host_topology, online_cpus
from computeagent.drivers.host_options import HostOptions
from computeagent.drivers.user_data import user_data_bytes
from computeagent.protocol.guests import GuestCounters, GuestFacts, GuestOnHypervisor, GuestSpec
from computeagent.protocol.hosts import HostReport
from computeagent.protocol.power import PowerState
from computeagent.protocol.steps import FailureClass
from computeagent.protocol.topology_json import guest_to_dict

HYPERVISOR_VERSION = 1_000_000
ARCH = "x86_64"
TRAITS = (
    "COMPUTE_ARCH_X86_64",
    "COMPUTE_IMAGE_TYPE_QCOW2",
    "COMPUTE_IMAGE_TYPE_RAW",
    "COMPUTE_NODE",
    "COMPUTE_SOCKET_PCI_NUMA_AFFINITY",
    "HW_ARCH_X86_64",
)


THREADS_TRAIT = "HW_CPU_HYPERTHREADING"
NO_OPTIONS = HostOptions()


@dataclass(frozen=True, slots=True)
class FakeGuest:
    """One guest, of JSON values: its PowerState's, and its GuestSpec's `numa_topology` and `pci_devices`."""

    uuid: str
    name: str
    vcpus: int
    memory_mib: int
    disk_gib: int
    power_state: str
    numa_topology: dict[str, object] | None = None
    pci_devices: list[dict[str, str]] = field(default_factory=list)
    is_memory_saved: bool = False


class FakeDriver:
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
        self._images: set[str] = set()
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

    def happen(self, guest_uuid: str, state: PowerState) -> None:
        """The guest gets into this state by itself, as one does that is shut down from within, or crashes."""
        with self._lock:
            self._guests[guest_uuid] = replace(self._guests[guest_uuid], power_state=state.value)
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
        )

    def prepare_image(self, guest: GuestSpec, source: ImageSource) -> None:
        """Read the image once and verify its checksum. Raises DriverError (NETWORK) when it differs."""
        checksum = guest.image_checksum.removeprefix("sha256:").lower()
        with self._lock:
            if checksum in self._images:
                return
            digest = hashlib.sha256()
            for chunk in source():
                digest.update(chunk)
            if digest.hexdigest() != checksum:
                raise DriverError(
                    f"image {guest.image_id} does not match its checksum", failure_class=FailureClass.NETWORK
                )
            self._images.add(checksum)

    def prepare_disks(self, guest: GuestSpec) -> None:
        """No disks; takes its time, and reads the user data as whoever writes a config drive does."""
        user_data_bytes(guest)
        self._pause()

    def spawn(self, guest: GuestSpec) -> GuestFacts:
        """Have the guest running."""
        self._pause()
        return self._running(guest)

    def destroy(self, guest_uuid: str) -> None:
        """Forget the guest."""
        self._pause()
        with self._lock:
            if self._guests.pop(guest_uuid, None) is not None:
                self._save(guest_uuid)

    def start(self, guest: GuestSpec) -> GuestFacts:
        """Have the guest running."""
        self._pause()
        return self._running(guest)

    def stop(self, guest_uuid: str, *, grace_s: float) -> GuestFacts:
        """Have the guest off; it obeys at once."""
        del grace_s
        self._pause()
        with self._lock:
            guest = self._guests.get(guest_uuid)
            if guest is not None:
                self._guests[guest_uuid] = replace(guest, power_state=PowerState.SHUTDOWN.value)
                self._save(guest_uuid)
        return GuestFacts(power_state=PowerState.SHUTDOWN)

    def hard_reboot(self, guest: GuestSpec) -> GuestFacts:
        """Off and on."""
        self._pause()
        return self._running(guest)

    def pause(self, guest_uuid: str) -> GuestFacts:
        """Have the guest paused."""
        return self._changed(guest_uuid, PowerState.PAUSED, of=(PowerState.RUNNING,))

    def unpause(self, guest_uuid: str) -> GuestFacts:
        """Have the guest running."""
        return self._changed(guest_uuid, PowerState.RUNNING, of=(PowerState.PAUSED,))

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

    def facts(self, guest_uuid: str) -> GuestFacts | None:
        """The power state; None when there is no such guest."""
        with self._lock:
            guest = self._guests.get(guest_uuid)
        return None if guest is None else GuestFacts(power_state=PowerState(guest.power_state))

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
        return {
            guest.uuid: GuestCounters(
                cpu_ns=int(seconds * guest.vcpus * 1_000_000_000 / 4),
                memory_actual_kib=guest.memory_mib * 1024,
                memory_rss_kib=guest.memory_mib * 1024,
                memory_unused_kib=guest.memory_mib * 256,
                disk_read_bytes=int(seconds * 4096),
                disk_read_requests=int(seconds),
                disk_write_bytes=int(seconds * 8192),
                disk_write_requests=int(seconds * 2),
                rx_bytes=int(seconds * 1500),
                rx_packets=int(seconds),
                tx_bytes=int(seconds * 3000),
                tx_packets=int(seconds * 2),
            )
            for guest in guests
            if guest.power_state == PowerState.RUNNING
        }

    def console_log(self, guest_uuid: str, *, max_bytes: int) -> bytes:
        """One line, so that a log is there to be shown."""
        with self._lock:
            guest = self._guests.get(guest_uuid)
        return b"" if guest is None else f"fake guest {guest.name}\n".encode(errors="replace")[-max_bytes:]

    def _changed(
        self, guest_uuid: str, state: PowerState, *, of: tuple[PowerState, ...], is_memory_saved: bool = False
    ) -> GuestFacts:
        """Have a guest in this state that was in one of those, or in this already. Raises DriverError."""
        self._pause()
        with self._lock:
            guest = self._guests.get(guest_uuid)
            if guest is None or guest.power_state not in (*of, *(() if is_memory_saved else (state,))):
                raise DriverError(f"guest {guest_uuid} is {guest.power_state if guest else 'not there'}")
            self._guests[guest_uuid] = replace(guest, power_state=state.value, is_memory_saved=is_memory_saved)
            self._save(guest_uuid)
        return GuestFacts(power_state=state)

    def _running(self, guest: GuestSpec) -> GuestFacts:
        with self._lock:
            self._guests[guest.uuid] = FakeGuest(
                uuid=guest.uuid,
                name=guest.name,
                vcpus=guest.vcpus,
                memory_mib=guest.memory_mib,
                disk_gib=guest.root_gib + guest.ephemeral_gib,
                power_state=PowerState.RUNNING.value,
                numa_topology=None if guest.numa_topology is None else guest_to_dict(guest.numa_topology),
                pci_devices=[asdict(device) for device in guest.pci_devices],
            )
            self._save(guest.uuid)
        return GuestFacts(power_state=PowerState.RUNNING)

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
