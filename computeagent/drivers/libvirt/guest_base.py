"""What all verbs on a guest share: its domain, its definition, and what is known of it."""

from dataclasses import replace
from typing import Any

from computeagent.drivers.base import DriverError
from computeagent.drivers.device_spec import devices_chosen
from computeagent.drivers.host_cells import host_topology
from computeagent.drivers.host_options import HostOptions
from computeagent.drivers.libvirt.connection import Connection
from computeagent.drivers.libvirt.domains import domain_lookup, metadata_of, power_state, vnc_socket
from computeagent.drivers.libvirt.guest_tuning import GuestTuning, HostView, guest_tuning
from computeagent.drivers.libvirt.guest_xml import GuestMetadata, guest_xml
from computeagent.drivers.libvirt.host_profile import HostProfile
from computeagent.drivers.libvirt.node_devices import pci_devices
from computeagent.drivers.libvirt.state_reasons import state_reason, without_false_crash
from computeagent.drivers.libvirt.volume_xml import volumes_in
from computeagent.protocol.guests import GuestFacts, GuestSpec
from computeagent.protocol.pci import PciDeviceRecord
from computeagent.protocol.power import PowerState


class GuestBase:
    """The parts of `LibvirtDriver` are made of it."""

    _connection: Connection
    _profile: HostProfile
    _options: HostOptions

    def _there(self, conn: Any, guest_uuid: str) -> Any:
        domain = domain_lookup(conn, guest_uuid)
        if domain is None:
            raise DriverError(f"guest {guest_uuid} is not on this hypervisor")
        return domain

    def _defined(self, conn: Any, guest: GuestSpec) -> Any:
        return conn.defineXML(self._definition_xml(conn, guest))

    def _definition_xml(self, conn: Any, guest: GuestSpec) -> str:
        return guest_xml(replace(self._profile.definition(conn, guest), tuning=self._tuning(conn, guest)))

    def _tuning(self, conn: Any, guest: GuestSpec) -> GuestTuning:
        """Where the guest goes; the host is only asked for what the guest needs of it."""
        host = host_topology(self._profile.machine_cells(conn), self._options) if guest.numa_topology else None
        pci = self._pci_devices(conn) if guest.pci_devices else ()
        return guest_tuning(guest, HostView(() if host is None else host.cells, self._options.cpu_shared_set, pci))

    def _pci_devices(self, conn: Any) -> tuple[PciDeviceRecord, ...]:
        """The devices that guests may have."""
        specs = self._options.device_specs
        return devices_chosen(pci_devices(conn), specs) if specs else ()

    def _facts(self, conn: Any, domain: Any) -> GuestFacts:
        state, history = power_state(domain), self._connection.histories.of(domain.UUIDString())
        if state is PowerState.NOSTATE:
            return GuestFacts(power_state=state)
        reason, details = state_reason(domain, history)
        facts = GuestFacts(state, reason=reason, details=details, watchdog_fired=history.watchdog_fired)
        if domain.isActive():
            live = domain.XMLDesc(0)
            facts = replace(
                facts,
                power_state=power_state(domain),
                addresses=self._profile.addresses(conn, domain),
                vnc_socket=self._profile.outside_path(vnc_socket(live)),
                volumes=volumes_in(live) if self._profile.runs_guests else None,
            )
        # Asked last: the guest may have ended while it was looked at, and what ended it is told before its end is.
        return without_false_crash(facts, self._connection.histories.of(domain.UUIDString()))

    def _ours(self, conn: Any) -> list[tuple[Any, GuestMetadata]]:
        marked = ((domain, metadata_of(domain)) for domain in conn.listAllDomains(0))
        return [(domain, metadata_of_guest) for domain, metadata_of_guest in marked if metadata_of_guest is not None]
