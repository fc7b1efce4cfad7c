"""The interfaces of instances with their addresses."""

import uuid
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from ipaddress import ip_address

from controlplane.infra.among import uuids_value
from controlplane.infra.prepared import PreparedQuery
from servers.models import FloatingIP, Instance, Port

FIXED, FLOATING = "fixed", "floating"


@dataclass(frozen=True, slots=True)
class InterfaceAddress:
    """`kind` is fixed or floating."""

    address: str
    kind: str = FIXED

    @property
    def version(self) -> int:
        """4 or 6."""
        return 6 if ":" in self.address else 4


@dataclass(frozen=True, slots=True)
class Interface:
    """One card of an instance, as its owner sees it."""

    port_id: uuid.UUID
    network_id: uuid.UUID | None
    network: str
    mac: str
    tag: str
    status: str
    vnic_type: str
    is_of_instance: bool
    addresses: tuple[InterfaceAddress, ...]


_SHOWN = (
    "instance_uuid",
    "network_id",
    "network_name",
    "hypervisor_network",
    "mac",
    "tag",
    "status",
    "vnic_type",
    "is_of_instance",
    "addresses",
)
_PORTS = PreparedQuery(
    "instance_ports",
    lambda ids: Port.objects.filter(instance_uuid__among=ids).order_by("position", "created_at", "pk").only(*_SHOWN),
    types=["uuid[]"],
)
_FLOATING = PreparedQuery(
    "floating_of_ports",
    lambda ids: FloatingIP.objects.filter(port__pk__among=ids).order_by("created_at", "pk").only("port_id", "address"),
    types=["uuid[]"],
)


def instance_interfaces(instances: Collection[Instance]) -> dict[uuid.UUID, tuple[Interface, ...]]:
    """In the order of the cards. Two queries, however many instances."""
    by_id = {instance.pk: instance for instance in instances if not instance.is_pending}
    rows = _PORTS.run([uuids_value(by_id)]) if by_id else []
    floating: dict[uuid.UUID | None, list[str]] = defaultdict(list)
    if any(not port.hypervisor_network for port in rows):
        for standing in _FLOATING.run([uuids_value(port.pk for port in rows)]):
            floating[standing.port_id].append(standing.address)
    found: dict[uuid.UUID, list[Interface]] = defaultdict(list)
    for port in rows:
        if port.instance_uuid is None:
            continue
        leased = _leased(by_id[port.instance_uuid], port)
        found[port.instance_uuid].append(_interface(port, [*port.addresses, *leased], floating[port.pk]))
    return {pk: tuple(found[pk]) for pk in by_id}


def _leased(instance: Instance, port: Port) -> list[str]:
    """A hypervisor's own network gives addresses by itself, and its host tells which."""
    return _reported(instance, port.hypervisor_network) if port.hypervisor_network else []


def _reported(instance: Instance, network: str) -> list[str]:
    return [address for address in (instance.addresses or {}).get(network, ()) if _is_address(address)]


def _is_address(text: object) -> bool:
    try:
        ip_address(str(text))
    except ValueError:
        return False
    return True


def _interface(port: Port, fixed: Sequence[str], floating: Sequence[str]) -> Interface:
    return Interface(
        port_id=port.pk,
        network_id=port.network_id,
        network=port.network_name,
        mac=port.mac,
        tag=port.tag,
        status=port.status,
        vnic_type=port.vnic_type,
        is_of_instance=port.is_of_instance,
        addresses=(
            *(InterfaceAddress(address) for address in dict.fromkeys(fixed)),
            *(InterfaceAddress(address, FLOATING) for address in floating),
        ),
    )


def addresses_without_port(instance: Instance, interfaces: Sequence[Interface]) -> dict[str, list[str]]:
    """Those of the one card that has no port: in its hypervisor's own default network, of an instance that was asked
    for without any network where there was none. By the name that its host tells.
    """
    if interfaces or instance.is_pending or not instance.has_default_network:
        return {}
    reported = {network: _reported(instance, network) for network in instance.addresses or {}}
    return {network: addresses for network, addresses in reported.items() if addresses}


def addresses_by_network(instance: Instance, interfaces: Sequence[Interface]) -> dict[str, list[str]]:
    """What is shown as the addresses of an instance with these cards, fixed and floating, by the name of the network.

    They are its ports'. What its host tells is shown of hypervisors' own networks alone, where nobody else knows.
    """
    found = addresses_without_port(instance, interfaces)
    for each in interfaces:
        here = found.setdefault(each.network, []) if each.addresses else []
        here += [one.address for one in each.addresses if one.address not in here]
    return found


def instance_addresses(instances: Collection[Instance]) -> dict[uuid.UUID, dict[str, list[str]]]:
    """The same of many. Two queries, however many instances."""
    interfaces = instance_interfaces(instances)
    return {one.pk: addresses_by_network(one, interfaces.get(one.pk, ())) for one in instances}
