"""The Driver of libvirt hosts: the verbs of `drivers.base`, each idempotent by instance uuid."""

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from computeagent.drivers.base import Check, CopyProgress, GuestNotice, ImageSource, always, port_of
from computeagent.drivers.host_cells import host_topology, online_cpus
from computeagent.drivers.host_options import HostOptions
from computeagent.drivers.libvirt.binding import LibvirtError, is_no_domain, translated
from computeagent.drivers.libvirt.connection import Connection
from computeagent.drivers.libvirt.domains import (
    domain_interrupt,
    domain_kill,
    domain_lookup,
    domain_pause,
    domain_save,
    domain_start,
    domain_unpause,
    is_running,
    running_guests,
    state_or_none,
)
from computeagent.drivers.libvirt.files import host_errors
from computeagent.drivers.libvirt.guest_agent import password_set
from computeagent.drivers.libvirt.guest_stats import version_text
from computeagent.drivers.libvirt.guest_views import GuestViews
from computeagent.drivers.libvirt.host_profile import HostProfile, SizeOverrides
from computeagent.drivers.libvirt.host_sizes import disk_sizes, overridden, shared_vcpus
from computeagent.drivers.libvirt.interface_plug import interface_attach, interface_detach
from computeagent.drivers.libvirt.real_host import RealHost
from computeagent.drivers.libvirt.refusals import guest_refusals
from computeagent.drivers.libvirt.shutting_down import domain_stop
from computeagent.drivers.libvirt.simulated_host import SimulatedHost, is_simulated
from computeagent.drivers.libvirt.volume_secrets import secrets_defined, secrets_forget
from computeagent.drivers.libvirt.volume_verbs import GuestVolumeVerbs
from computeagent.networks.places.place import HypervisorPlace
from computeagent.protocol.guest_config import BootFile
from computeagent.protocol.guests import GuestFacts, GuestOnHypervisor, GuestSpec
from computeagent.protocol.hosts import HostReport, HostVersions
from computeagent.protocol.images import CachedImage, WantedImage
from computeagent.protocol.power import PowerState
from controlplane.kernel.kill_points import reach

NO_OVERRIDES = SizeOverrides()
NO_OPTIONS = HostOptions()

log = logging.getLogger(__name__)


class LibvirtDriver(GuestViews, GuestVolumeVerbs):
    """One libvirt URI. All files of its guests are below `state_dir`, which must be this driver's alone.

    `shared_dir` (default: `state_dir`) may be shared by the drivers of one machine: base images, and what was
    learnt of its QEMU and KVM. `overrides` are sizes to report instead of the measured ones, `options` what the
    operator sets aside. `has_nat_network` defines and starts libvirt's default network. `place`: where a private
    hypervisor's networks are, and its libvirtd with them.
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
        place: HypervisorPlace | None = None,
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
                options=options,
                place=place,
            )
        )
        self._connection = Connection(uri)

    def open(self) -> None:
        """Connect, and find out once how guests run here."""
        self._profile.before_open()
        self._connection = Connection(self._profile.uri, before_connect=self._profile.before_connect)
        self._connection.open()
        with translated("preparing the hypervisor"):
            self._profile.after_open(self._connection.handle())
            secrets_forget(self._connection.handle())

    def close(self) -> None:
        """Let go of the connection; guests keep running."""
        self._connection.close()
        self._profile.after_close()

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
        disk_gib, disk_used_gib, disk_left_gib = disk_sizes(
            self._overrides, facts, [metadata_of_guest for _, metadata_of_guest in ours]
        )
        return HostReport(
            hypervisor_hostname=self._hostname,
            hypervisor_type=hypervisor_type,
            hypervisor_version=version,
            vcpus=shared_vcpus(self._overrides, self._options, online, facts),
            memory_mib=overridden(self._overrides.memory_mib, facts.memory_mib),
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
            vgpus=facts.vgpus,
            machines=facts.machines,
            guest_cpu=facts.guest_cpu,
            disk_gib=disk_gib,
            disk_used_gib=disk_used_gib,
            disk_available_least_gib=disk_left_gib,
            metrics={
                "guests.vcpus": sum(info[3] for info in active),
                "guests.memory.mib": sum(info[1] for info in active) // 1024,
            },
            versions=HostVersions(libvirt=version_text(libvirt_version)),
        )

    def prepare_image(self, guest: GuestSpec, source: ImageSource) -> None:
        """Have the image's base file, verified."""
        self._profile.prepare_image(guest, source)

    def prepare_boot_file(self, file: BootFile, source: ImageSource) -> None:
        """Have the kernel's or RAM disk's base file, verified."""
        self._profile.prepare_boot_file(file, source)

    def cache_image(self, image: WantedImage, source: ImageSource) -> Path | None:
        """Have the image's base file, verified."""
        return self._profile.cache_image(image, source)

    def cached_images(self) -> list[CachedImage]:
        """The base files that the drivers of this machine share."""
        return self._profile.cached_images()

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

    def stop(
        self, guest_uuid: str, *, grace_s: float, check: Check = always, plug_pulled: Callable[[], None] = always
    ) -> GuestFacts:
        """Power off. A guest that is not there is off."""
        conn = self._connection.handle()
        with translated(f"stopping {guest_uuid}"):
            domain = domain_lookup(conn, guest_uuid)
            if domain is not None:
                domain_stop(domain, grace_s=grace_s, check=check, plug_pulled=plug_pulled)
        return GuestFacts(power_state=PowerState.SHUTDOWN)

    def hard_reboot(self, guest: GuestSpec) -> GuestFacts:
        """Pull the plug, throw away saved memory, and start again."""
        self._off(guest.uuid)
        return self._run(guest, f"rebooting {guest.uuid}")

    def define(self, guest: GuestSpec) -> GuestFacts:
        """Define, and do not start."""
        conn = self._connection.handle()
        with translated(f"defining {guest.uuid}"), guest_refusals(guest, f"defining {guest.uuid}"):
            return self._facts(conn, self._defined(conn, guest))

    def rescue(self, guest: GuestSpec) -> GuestFacts:
        """Off, a fresh rescue disk, and on: the definition of a guest in rescue boots from it."""
        self._off(guest.uuid)
        self._profile.make_rescue_disk(guest)
        return self._run(guest, f"rescuing {guest.uuid}")

    def set_password(self, guest: GuestSpec, *, user: str, password: str) -> None:
        """By the QEMU guest agent."""
        with translated(f"setting a password in {guest.uuid}"):
            password_set(self._there(self._connection.handle(), guest.uuid), user=user, password=password)

    def attach_interface(self, guest: GuestSpec, port_id: str) -> GuestFacts:
        """Into the running domain, and into its definition."""
        conn, port = self._connection.handle(), port_of(guest, port_id)
        with translated(f"adding a network card to {guest.uuid}"):
            definition = self._definition_xml(conn, guest)
            domain = self._there(conn, guest.uuid)
            if is_running(domain):
                interface_attach(domain, definition, port.mac)
            return self._facts(conn, conn.defineXML(definition))

    def detach_interface(self, guest: GuestSpec, port_id: str, *, timeout_s: float) -> GuestFacts:
        """Out of the running domain first, then out of its definition."""
        conn, port = self._connection.handle(), port_of(guest, port_id)
        with translated(f"taking a network card from {guest.uuid}"):
            domain = self._there(conn, guest.uuid)
            if is_running(domain):
                interface_detach(domain, port.mac, timeout_s=timeout_s)
            rest = replace(guest, ports=tuple(each for each in guest.ports if each.id != port_id))
            return self._facts(conn, self._defined(conn, rest))

    def _off(self, guest_uuid: str) -> None:
        """Pull the plug, and throw away saved memory."""
        self.stop(guest_uuid, grace_s=0)
        with translated(f"stopping {guest_uuid}"):
            domain = domain_lookup(self._connection.handle(), guest_uuid)
            if domain is not None and domain.hasManagedSaveImage():
                domain.managedSaveRemove()

    def pause(self, guest_uuid: str) -> GuestFacts:
        """Stop its vCPUs."""
        with translated(f"pausing {guest_uuid}"):
            return self._acted(guest_uuid, domain_pause)

    def unpause(self, guest_uuid: str) -> GuestFacts:
        """Let its vCPUs run."""
        with translated(f"unpausing {guest_uuid}"):
            return self._acted(guest_uuid, domain_unpause)

    def inject_nmi(self, guest_uuid: str) -> GuestFacts:
        """To all of its vCPUs."""
        with translated(f"interrupting {guest_uuid}"):
            return self._acted(guest_uuid, domain_interrupt)

    def suspend(self, guest_uuid: str) -> GuestFacts:
        """Libvirt's managed save: `start` finds it by itself."""
        with translated(f"suspending {guest_uuid}"):
            return self._acted(guest_uuid, domain_save)

    def resume(self, guest: GuestSpec) -> GuestFacts:
        """Power on, from the saved memory if there is some: libvirt then goes by the definition that was saved."""
        return self._run(guest, f"resuming {guest.uuid}")

    def snapshot(self, guest: GuestSpec, image_id: str, progress: CopyProgress) -> None:
        """Copy the root disk, of a guest that runs by a backup job of QEMU."""
        conn = self._connection.handle()
        with translated(f"copying the disk of {guest.uuid}"):
            self._profile.snapshot(domain_lookup(conn, guest.uuid), guest, image_id, progress)

    def snapshot_open(self, guest_uuid: str, image_id: str) -> BinaryIO:
        """The file."""
        with host_errors(f"reading the copy of the disk of {guest_uuid}"):
            return self._profile.snapshot_path(guest_uuid, image_id).open("rb")

    def snapshot_remove(self, guest_uuid: str, image_id: str) -> None:
        """Remove the file."""
        with host_errors(f"removing the copy of the disk of {guest_uuid}"):
            self._profile.snapshot_path(guest_uuid, image_id).unlink(missing_ok=True)

    def _acted(self, guest_uuid: str, verb: Callable[[Any], None]) -> GuestFacts:
        conn = self._connection.handle()
        domain = self._there(conn, guest_uuid)
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
                state = state_or_none(domain)
                if state is not None:
                    found.append(
                        GuestOnHypervisor(uuid=metadata_of_guest.uuid, name=metadata_of_guest.name, power_state=state)
                    )
            return found

    def _run(self, guest: GuestSpec, doing: str) -> GuestFacts:
        """Have the guest running: nothing to do, or defined anew and started."""
        conn = self._connection.handle()
        with translated(doing):
            domain = domain_lookup(conn, guest.uuid)
            if domain is None or not is_running(domain):
                with guest_refusals(guest, doing):
                    domain = self._defined(conn, guest)
                    reach("computeagent.drivers.libvirt.driver:defined")
                    with secrets_defined(conn, guest.volumes):
                        domain_start(domain)
                reach("computeagent.drivers.libvirt.driver:started")
                self._profile.started(guest.uuid)
            return self._facts(conn, domain)

    def _forget(self, domain: Any) -> None:
        try:
            domain_kill(domain)
            self._profile.undefine(domain)
        except LibvirtError as error:
            if not is_no_domain(error):
                raise
