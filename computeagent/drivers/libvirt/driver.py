"""The Driver of libvirt hosts: the verbs of `drivers.base`, each idempotent by instance uuid."""

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from computeagent.drivers.base import DriverError, GuestNotice, ImageSource
from computeagent.drivers.device_spec import devices_chosen
from computeagent.drivers.host_cells import host_topology, online_cpus
from computeagent.drivers.host_options import HostOptions
from computeagent.drivers.libvirt.binding import LibvirtError, error_text, is_no_domain, translated
from computeagent.drivers.libvirt.connection import Connection
from computeagent.drivers.libvirt.domains import (
    domain_kill,
    domain_lookup,
    domain_pause,
    domain_save,
    domain_start,
    domain_stop,
    domain_unpause,
    is_running,
    metadata_of,
    power_state,
    vnc_socket,
)
from computeagent.drivers.libvirt.guest_stats import guest_stats, version_text
from computeagent.drivers.libvirt.guest_tuning import GuestTuning, HostView, guest_tuning
from computeagent.drivers.libvirt.guest_xml import GuestMetadata, guest_xml
from computeagent.drivers.libvirt.host_profile import HostProfile, HypervisorFacts, SizeOverrides
from computeagent.drivers.libvirt.node_devices import pci_devices
from computeagent.drivers.libvirt.real_host import RealHost
from computeagent.drivers.libvirt.simulated_host import SimulatedHost, is_simulated
from computeagent.protocol.guests import GuestCounters, GuestFacts, GuestOnHypervisor, GuestSpec
from computeagent.protocol.hosts import HostReport, HostVersions
from computeagent.protocol.pci import PciDeviceRecord
from computeagent.protocol.power import PowerState
from controlplane.kernel.kill_points import reach

NO_OVERRIDES = SizeOverrides()
NO_OPTIONS = HostOptions()

log = logging.getLogger(__name__)


class LibvirtDriver:
    """One libvirt URI. All files of its guests are below `state_dir`, which must be this driver's alone.

    `shared_dir` (default: `state_dir`) may be shared by the drivers of one machine: base images, and what was
    learnt of its QEMU and KVM. `overrides` are sizes to report instead of the measured ones, `options` what the
    operator sets aside. `has_nat_network` defines and starts libvirt's default network.
    """

    def __init__(
        self,
        uri: str,
        state_dir: Path,
        hypervisor_hostname: str,
        *,
        overrides: SizeOverrides = NO_OVERRIDES,
        shared_dir: Path | None = None,
        has_nat_network: bool = False,
        host_ip: str = "127.0.0.1",
        options: HostOptions = NO_OPTIONS,
    ) -> None:
        self._hostname = hypervisor_hostname
        self._overrides = overrides
        self._options = options
        self._host_ip = host_ip
        state_dir = state_dir.absolute()
        self._profile: HostProfile = (
            SimulatedHost(uri, state_dir)
            if is_simulated(uri)
            else RealHost(
                uri,
                state_dir,
                shared_dir=(shared_dir or state_dir).absolute(),
                has_nat_network=has_nat_network,
                unused_images_s=options.unused_images_s,
            )
        )
        self._connection = Connection(uri)

    def open(self) -> None:
        """Connect, and find out once how guests run here."""
        self._profile.before_open()
        self._connection = Connection(self._profile.uri)
        self._connection.open()
        with translated("preparing the hypervisor"):
            self._profile.after_open(self._connection.handle())

    def close(self) -> None:
        """Let go of the connection; guests keep running."""
        self._connection.close()

    def watch(self, notice: GuestNotice) -> None:
        """Pass on libvirt's lifecycle events, from the thread of its event loop."""
        self._connection.watch(notice)

    def host_report(self) -> HostReport:
        """What this hypervisor is and has now. Memory and vCPUs used are those of our running guests."""
        conn = self._connection.handle()
        with translated("reading the host"):
            ours = self._ours(conn)
            active = running_guests([domain for domain, _ in ours])
            facts = self._profile.host_facts(conn, [metadata_of_guest for _, metadata_of_guest in ours])
            hypervisor_type, version, libvirt_version = conn.getType(), conn.getVersion(), conn.getLibVersion()
            pci = self._pci_devices(conn)
        online = online_cpus(facts.cells, facts.vcpus)
        disk_gib, disk_used_gib, disk_left_gib = _disk_sizes(
            self._overrides, facts, [metadata_of_guest for _, metadata_of_guest in ours]
        )
        return HostReport(
            hypervisor_hostname=self._hostname,
            hypervisor_type=hypervisor_type,
            hypervisor_version=version,
            vcpus=_shared_vcpus(self._overrides, self._options, online, facts),
            memory_mib=_or(self._overrides.memory_mib, facts.memory_mib),
            vcpus_used=sum(info[3] for info in active),
            memory_used_mib=sum(info[1] for info in active) // 1024,
            running_guests=len(active),
            host_ip=self._host_ip,
            virt_type=facts.virt_type,
            arch=facts.arch,
            cpu_info=facts.cpu_info,
            supported_instances=facts.supported_instances,
            traits=facts.traits,
            numa_topology=host_topology(facts.cells, self._options),
            pci_devices=pci,
            dedicated_vcpus=len(self._options.dedicated_cpus(online)),
            disk_gib=disk_gib,
            disk_used_gib=disk_used_gib,
            disk_available_least_gib=disk_left_gib,
            versions=HostVersions(libvirt=version_text(libvirt_version)),
        )

    def prepare_image(self, guest: GuestSpec, source: ImageSource) -> None:
        """Have the image's base file, verified."""
        self._profile.prepare_image(guest, source)

    def prepare_disks(self, guest: GuestSpec) -> None:
        """Make the guest's disks anew. A guest that runs from them already keeps them."""
        conn = self._connection.handle()
        with translated(f"looking for {guest.uuid}"):
            domain = domain_lookup(conn, guest.uuid)
            if domain is not None and is_running(domain):
                return
        self._profile.prepare_disks(guest)

    def spawn(self, guest: GuestSpec) -> GuestFacts:
        """Define and start the guest. One that runs already is left alone."""
        return self._run(guest, f"starting {guest.uuid}")

    def destroy(self, guest_uuid: str) -> None:
        """Stop it, forget it, remove its files."""
        conn = self._connection.handle()
        with translated(f"destroying {guest_uuid}"):
            domain = domain_lookup(conn, guest_uuid)
            if domain is not None:
                self._forget(domain)
        reach("computeagent.drivers.libvirt.driver:forgotten")
        self._profile.remove_files(guest_uuid)

    def start(self, guest: GuestSpec) -> GuestFacts:
        """Power on, with a freshly made definition."""
        return self._run(guest, f"starting {guest.uuid}")

    def stop(self, guest_uuid: str, *, grace_s: float) -> GuestFacts:
        """Power off. A guest that is not there is off."""
        conn = self._connection.handle()
        with translated(f"stopping {guest_uuid}"):
            domain = domain_lookup(conn, guest_uuid)
            if domain is not None:
                domain_stop(domain, grace_s=grace_s)
        return GuestFacts(power_state=PowerState.SHUTDOWN)

    def hard_reboot(self, guest: GuestSpec) -> GuestFacts:
        """Pull the plug, throw away saved memory, and start again."""
        self.stop(guest.uuid, grace_s=0)
        with translated(f"rebooting {guest.uuid}"):
            domain = domain_lookup(self._connection.handle(), guest.uuid)
            if domain is not None and domain.hasManagedSaveImage():
                domain.managedSaveRemove()
        return self._run(guest, f"rebooting {guest.uuid}")

    def pause(self, guest_uuid: str) -> GuestFacts:
        """Stop its vCPUs."""
        with translated(f"pausing {guest_uuid}"):
            return self._acted(guest_uuid, domain_pause)

    def unpause(self, guest_uuid: str) -> GuestFacts:
        """Let its vCPUs run."""
        with translated(f"unpausing {guest_uuid}"):
            return self._acted(guest_uuid, domain_unpause)

    def suspend(self, guest_uuid: str) -> GuestFacts:
        """Libvirt's managed save: `start` finds it by itself."""
        with translated(f"suspending {guest_uuid}"):
            return self._acted(guest_uuid, domain_save)

    def resume(self, guest: GuestSpec) -> GuestFacts:
        """Power on, from the saved memory if there is some: libvirt then goes by the definition that was saved."""
        return self._run(guest, f"resuming {guest.uuid}")

    def _acted(self, guest_uuid: str, verb: Callable[[Any], None]) -> GuestFacts:
        conn = self._connection.handle()
        domain = domain_lookup(conn, guest_uuid)
        if domain is None:
            raise DriverError(f"guest {guest_uuid} is not on this hypervisor")
        verb(domain)
        return self._facts(conn, domain)

    def facts(self, guest_uuid: str) -> GuestFacts | None:
        """What is known of the guest; None when there is none."""
        conn = self._connection.handle()
        with translated(f"reading {guest_uuid}"):
            domain = domain_lookup(conn, guest_uuid)
            return None if domain is None else self._facts(conn, domain)

    def guests(self) -> list[GuestOnHypervisor]:
        """Every domain that bears our mark."""
        self._profile.housekeeping()
        with translated("listing the guests"):
            found = []
            for domain, metadata_of_guest in self._ours(self._connection.handle()):
                state = _state_or_none(domain)
                if state is not None:
                    found.append(
                        GuestOnHypervisor(uuid=metadata_of_guest.uuid, name=metadata_of_guest.name, power_state=state)
                    )
            return found

    def guest_counters(self) -> dict[str, GuestCounters]:
        """Of all guests that are on, in one call of libvirt."""
        with translated("reading what the guests use"):
            return guest_stats(self._connection.handle())

    def console_log(self, guest_uuid: str, *, max_bytes: int) -> bytes:
        """The end of the serial log."""
        return self._profile.console_tail(guest_uuid, max_bytes)

    def _run(self, guest: GuestSpec, doing: str) -> GuestFacts:
        """Have the guest running: nothing to do, or defined anew and started."""
        conn = self._connection.handle()
        with translated(doing):
            domain = domain_lookup(conn, guest.uuid)
            if domain is None or not is_running(domain):
                definition = replace(self._profile.definition(conn, guest), tuning=self._tuning(conn, guest))
                domain = conn.defineXML(guest_xml(definition))
                reach("computeagent.drivers.libvirt.driver:defined")
                domain_start(domain)
                reach("computeagent.drivers.libvirt.driver:started")
                self._profile.started(guest.uuid)
            return self._facts(conn, domain)

    def _tuning(self, conn: Any, guest: GuestSpec) -> GuestTuning:
        """Where the guest goes; the host is only asked for what the guest needs of it."""
        host = host_topology(self._profile.machine_cells(conn), self._options) if guest.numa_topology else None
        pci = self._pci_devices(conn) if guest.pci_devices else ()
        return guest_tuning(guest, HostView(() if host is None else host.cells, self._options.cpu_shared_set, pci))

    def _pci_devices(self, conn: Any) -> tuple[PciDeviceRecord, ...]:
        """The devices that guests may have."""
        specs = self._options.device_specs
        return devices_chosen(pci_devices(conn), specs) if specs else ()

    def _forget(self, domain: Any) -> None:
        try:
            domain_kill(domain)
            self._profile.undefine(domain)
        except LibvirtError as error:
            if not is_no_domain(error):
                raise

    def _facts(self, conn: Any, domain: Any) -> GuestFacts:
        state = power_state(domain)
        if state is PowerState.NOSTATE or not domain.isActive():
            return GuestFacts(power_state=state)
        return GuestFacts(
            power_state=power_state(domain),
            addresses=self._profile.addresses(conn, domain),
            vnc_socket=vnc_socket(domain.XMLDesc(0)),
        )

    def _ours(self, conn: Any) -> list[tuple[Any, GuestMetadata]]:
        marked = ((domain, metadata_of(domain)) for domain in conn.listAllDomains(0))
        return [(domain, metadata_of_guest) for domain, metadata_of_guest in marked if metadata_of_guest is not None]


def running_guests(domains: list[Any]) -> list[Any]:
    """What libvirt says of those that run. One that vanished, or does not answer now, is no reason to report nothing
    of the host: it is left out.
    """
    active = []
    for domain in domains:
        try:
            if domain.isActive():
                active.append(domain.info())
        except LibvirtError as error:
            log.info("a guest is left out of the host's report: %s", error_text(error))
    return active


def _state_or_none(domain: Any) -> PowerState | None:
    """The state, or None when the domain vanished since it was listed."""
    try:
        return power_state(domain)
    except LibvirtError as error:
        if is_no_domain(error):
            return None
        raise


def _shared_vcpus(
    overrides: SizeOverrides, options: HostOptions, online: frozenset[int], facts: HypervisorFacts
) -> int:
    """How many CPUs floating vCPUs share. A share of the machine is at most what its CPU sets leave."""
    if not options.has_cpu_sets:
        return _or(overrides.vcpus, facts.vcpus)
    shared = len(options.shared_cpus(online))
    return shared if overrides.vcpus is None else min(shared, overrides.vcpus)


def _or(override: int | None, measured: int) -> int:
    return measured if override is None else override


def _disk_sizes(
    overrides: SizeOverrides, facts: HypervisorFacts, guests_metadata: list[GuestMetadata]
) -> tuple[int, int, int]:
    """The disk, how much of it is used, and how much is left, in GiB. A share of the machine's disk counts as used
    what the guests' flavors take.
    """
    if overrides.disk_gib is None:
        return facts.disk_gib, facts.disk_used_gib, facts.disk_available_gib
    used = sum(metadata_of_guest.root_gib + metadata_of_guest.ephemeral_gib for metadata_of_guest in guests_metadata)
    return overrides.disk_gib, used, min(overrides.disk_gib - used, facts.disk_available_gib)
