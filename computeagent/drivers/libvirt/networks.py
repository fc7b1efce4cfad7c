"""libvirt's networks. Guests of a private hypervisor without any get cards that reach nobody (`guest_xml`)."""

import logging
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from typing import Any

from computeagent.drivers.base import DriverError
from computeagent.drivers.libvirt.binding import LibvirtError, error_text, libvirt
from computeagent.drivers.libvirt.guest_hardware import DEFAULT_NETWORK, ports_of, vif_model
from computeagent.drivers.libvirt.guest_xml import CLEAN_TRAFFIC, InterfaceDevice
from computeagent.networks.base import tap_name
from computeagent.protocol.guests import GuestSpec
from computeagent.protocol.networks import NetworkBackendKind
from computeagent.protocol.steps import FailureClass

NAT_BRIDGE = "virbr-kn0"
NAT_SUBNET = "192.168.177"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class GuestNetwork:
    """A network that runs, and how the cards in it are kept apart. No name: the card has nobody to talk to."""

    name: str = ""
    is_filtered: bool = False
    is_isolated: bool = False


def network_ready(conn: Any, name: str, *, is_private: bool) -> GuestNetwork:
    """The network of this name, running; none for a default network that a private hypervisor does not have.

    Raises DriverError (NETWORK) for any other network that is missing, cannot be started or cannot be filtered: a guest
    must not come up in another network than the one it was given, nor with another's address.
    """
    if is_private and name == DEFAULT_NETWORK and not _has_network(conn, name):
        return GuestNetwork()
    try:
        network = conn.networkLookupByName(name)
        if not network.isActive():
            network.create()
        found = guest_network(name, network.XMLDesc(0))
        if found.is_filtered:
            conn.nwfilterLookupByName(CLEAN_TRAFFIC)
        return found
    except LibvirtError as error:
        raise DriverError(
            f"network {name[:80]!r} of this hypervisor cannot be used: {error_text(error)}",
            failure_class=FailureClass.NETWORK,
        ) from error


def interfaces_of(conn: Any, guest: GuestSpec, *, is_private: bool) -> tuple[InterfaceDevice, ...]:
    """The guest's cards: on taps that were made for them, or in networks of this hypervisor. Raises DriverError."""
    model, cards = vif_model(guest), []
    for port in ports_of(guest):
        if port.pci_request_id:
            continue  # its card is a device of the host's
        if port.kind is not NetworkBackendKind.HYPERVISOR:
            # A guest that is defined and not started has no tap yet, and will have it under this name.
            tap = port.tap or tap_name(port.id)
            cards.append(InterfaceDevice(port.mac, model, tap=tap, mtu=port.mtu, has_offloads=port.has_offloads))
            continue
        network = network_ready(conn, port.network, is_private=is_private)
        cards.append(InterfaceDevice(port.mac, model, network.name, network.is_filtered, network.is_isolated))
    return tuple(cards)


def _has_network(conn: Any, name: str) -> bool:
    """An embedded hypervisor cannot even be asked."""
    try:
        return any(network.name() == name for network in conn.listAllNetworks())
    except LibvirtError:
        return False


def guest_network(name: str, network_xml: str) -> GuestNetwork:
    """What libvirt can do between the cards of this network: filter on bridges of Linux, isolate behind its own NAT.

    Ports of NAT networks are isolated from each other, since guests of all projects share them.
    """
    root = ET.fromstring(network_xml)  # noqa: S314 - libvirt's own output, no document from outside
    forward = root.find("forward")
    mode = "isolated" if forward is None else forward.get("mode", "nat")
    is_linux_bridge = root.find("bridge") is not None and root.find("virtualport") is None
    return GuestNetwork(name, is_filtered=is_linux_bridge, is_isolated=is_linux_bridge and mode == "nat")


def nat_network_ensure(conn: Any) -> None:
    """Define and start the default NAT network unless there is one. A failure is logged: its guests fail then."""
    try:
        if DEFAULT_NETWORK not in {network.name() for network in conn.listAllNetworks()}:
            conn.networkDefineXML(nat_network_xml())
        network = conn.networkLookupByName(DEFAULT_NETWORK)
        if not network.isActive():
            network.create()
        network.setAutostart(True)
    except LibvirtError as error:
        logger.warning("no NAT network; builds of guests in it will fail: %s", error_text(error))


def nat_network_xml() -> str:
    """A NAT network with DHCP. Its subnet is not libvirt's usual one, which the host itself may be in."""
    network = ET.Element("network")
    ET.SubElement(network, "name").text = DEFAULT_NETWORK
    ET.SubElement(network, "forward", mode="nat")
    ET.SubElement(network, "bridge", name=NAT_BRIDGE, stp="off", delay="0")
    ip = ET.SubElement(network, "ip", address=f"{NAT_SUBNET}.1", netmask="255.255.255.0")
    dhcp = ET.SubElement(ip, "dhcp")
    ET.SubElement(dhcp, "range", start=f"{NAT_SUBNET}.2", end=f"{NAT_SUBNET}.254")
    return ET.tostring(network, encoding="unicode")


def lease_addresses(domain: Any) -> dict[str, tuple[str, ...]]:
    """Addresses that libvirt's DHCP server gave to the guest, by network.

    A guest without a libvirt network has no leases, and what it took is not known: it stays empty.
    """
    networks = network_by_mac(domain.XMLDesc(0))
    if not networks:
        return {}
    try:
        interfaces = domain.interfaceAddresses(libvirt.VIR_DOMAIN_INTERFACE_ADDRESSES_SRC_LEASE)
    except LibvirtError:
        return {}
    found: dict[str, tuple[str, ...]] = {}
    for interface in interfaces.values():
        network = networks.get(str(interface.get("hwaddr", "")).lower())
        if network:
            fresh = tuple(str(address["addr"]) for address in interface.get("addrs") or ())
            found[network] = found.get(network, ()) + fresh
    return found


def network_by_mac(domain_xml: str) -> dict[str, str]:
    """MAC -> libvirt network, of the guest's cards that are in one."""
    root = ET.fromstring(domain_xml)  # noqa: S314 - libvirt's own output, no document from outside
    found: dict[str, str] = {}
    for interface in root.findall("devices/interface[@type='network']"):
        mac, source = interface.find("mac"), interface.find("source")
        if mac is not None and source is not None:
            found[mac.get("address", "").lower()] = source.get("network", "")
    return found
