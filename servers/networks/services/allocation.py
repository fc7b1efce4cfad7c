"""Addresses are given here, and nowhere else.

Who allocates locks the rows of the subnets first, so that two who do wait for each other (on SQLite the write lock does
it); and what keeps two ports from one address, whatever happens, is the constraint on the rows of addresses.
"""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from controlplane.kernel.texts import phrase as _
from servers.models import IPAllocation, Subnet
from servers.networks.domain.addresses import (
    AddressRange,
    address_key,
    address_number,
    address_text,
    free_numbers,
    host_range,
    network_range,
    ranges_of,
    search_order,
)
from servers.networks.domain.errors import (
    InvalidIpForNetwork,
    InvalidIpForSubnet,
    IpAddressInUse,
    NoMoreAddresses,
    SubnetNotFound,
)
from servers.networks.domain.ports import AddressRequest
from servers.networks.services.automatic_addresses import automatic_address

WINDOW = 2048
"""Taken addresses that are read at a time."""


@dataclass(frozen=True, slots=True)
class AddressNeed:
    """What one port needs: `addresses` None for one address of each IP version. Addresses that follow from its MAC
    address are given apart from this (`automatic_addresses`), and asking for what is given anyway is no mistake: `mac`
    is empty while nobody knows it. `is_router`: it may have any address there.
    """

    port_id: uuid.UUID
    network_id: uuid.UUID
    addresses: tuple[AddressRequest, ...] | None
    mac: str = ""
    is_router: bool = False


@dataclass(frozen=True, slots=True)
class _Slot:
    """One address of one port, out of any of these subnets."""

    port_id: uuid.UUID
    place: int
    subnet_ids: tuple[uuid.UUID, ...]


class SubnetsHeld:
    """Subnets of some networks whose rows are locked until the transaction ends, so that what is read of them is true
    until then.
    """

    def __init__(self, network_ids: Iterable[uuid.UUID]) -> None:
        # No key is changed: rows of addresses that name the subnet are not kept waiting.
        rows = Subnet.objects.select_for_update(no_key=True).filter(network__in=set(network_ids)).order_by("pk")
        self.by_id = {row.pk: row for row in rows}
        self.by_network: dict[uuid.UUID, list[Subnet]] = {}
        for row in sorted(self.by_id.values(), key=lambda row: (row.created_at, row.pk)):
            self.by_network.setdefault(row.network_id, []).append(row)

    def in_network(self, network_id: uuid.UUID) -> Sequence[Subnet]:
        """Its subnets, the oldest first."""
        return self.by_network.get(network_id, ())


def addresses_allocate(needs: Sequence[AddressNeed], subnets: SubnetsHeld) -> dict[uuid.UUID, list[IPAllocation]]:
    """Rows, not yet written, of the addresses of each port, in the order in which they were asked for; IPv4 first where
    the choice is ours. Remembers in the subnets where to search next.

    Raises SubnetNotFound, InvalidIpForNetwork, InvalidIpForSubnet, IpAddressInUse and NoMoreAddresses.
    """
    given: dict[tuple[uuid.UUID, int], IPAllocation] = {}
    slots: dict[tuple[uuid.UUID, ...], list[_Slot]] = {}
    for need in needs:
        for place, choice in enumerate(_choices(need, subnets)):
            if isinstance(choice, IPAllocation):
                given[need.port_id, place] = choice
            else:
                slots.setdefault(choice, []).append(_Slot(need.port_id, place, choice))
    _named_must_be_free(list(given.values()), subnets)
    chosen = {(row.subnet_id, row.address_key) for row in given.values()}
    for subnet_ids, group in slots.items():
        given |= _filled(group, [subnets.by_id[one] for one in subnet_ids], chosen)
    found: dict[uuid.UUID, list[IPAllocation]] = {need.port_id: [] for need in needs}
    for (port_id, _rest), row in sorted(given.items(), key=lambda item: item[0][1]):
        found[port_id].append(row)
    return found


def _choices(need: AddressNeed, subnets: SubnetsHeld) -> list[IPAllocation | tuple[uuid.UUID, ...]]:
    """For each address: the row of the one that is named, or the subnets of which any will do."""
    here = subnets.in_network(need.network_id)
    if need.addresses is None:
        chosen = [row for row in here if not row.is_automatic]
        versions = [tuple(row.pk for row in chosen if row.ip_version == version) for version in (4, 6)]
        return [one for one in versions if one]
    return [_choice(need, each, here) for each in need.addresses if not is_given_anyway(need, each, here)]


def is_given_anyway(need: AddressNeed, asked: AddressRequest, here: Sequence[Subnet]) -> bool:
    """Whether it follows from the port's MAC address. Raises InvalidIpForSubnet for another one of such a subnet."""
    if need.is_router:
        return False
    for row in here:
        if not row.is_automatic:
            continue
        if not asked.address and asked.subnet_id == row.pk:
            return True
        if asked.address and address_number(asked.address) in network_range(row.cidr):
            if need.mac and address_text(address_number(asked.address)) == automatic_address(row, need.mac):
                return True
            reason = _(
                "Addresses of the subnet {cidr} follow from MAC addresses: {address} cannot be chosen.",
                cidr=row.cidr,
                address=asked.address,
            )
            raise InvalidIpForSubnet(reason, field="fixed_addresses")
    return False


def _choice(need: AddressNeed, asked: AddressRequest, here: Sequence[Subnet]) -> IPAllocation | tuple[uuid.UUID, ...]:
    named = [row for row in here if asked.subnet_id in (None, row.pk)]
    if asked.subnet_id is not None and not named:
        raise SubnetNotFound(
            _("Network {network_id} has no subnet {subnet_id}.", network_id=need.network_id, subnet_id=asked.subnet_id),
            field="fixed_addresses",
        )
    if asked.ip_version is not None:
        return tuple(row.pk for row in named if row.ip_version == asked.ip_version)
    if not asked.address:
        return (named[0].pk,)
    number = address_number(asked.address)
    for row in named:
        if number not in network_range(row.cidr):
            continue
        if number not in host_range(row.cidr):
            reason = _(
                "{address} is the address of the subnet {cidr} itself: no port may have it.",
                address=asked.address,
                cidr=row.cidr,
            )
            raise InvalidIpForSubnet(reason, field="fixed_addresses")
        return IPAllocation(
            network_id=need.network_id,
            subnet_id=row.pk,
            port_id=need.port_id,
            address=address_text(number),
            address_key=address_key(number),
        )
    if asked.subnet_id is not None:
        raise InvalidIpForSubnet(
            _(
                "{address} is not in the subnet {subnet_id} ({cidr}).",
                address=asked.address,
                subnet_id=asked.subnet_id,
                cidr=named[0].cidr,
            ),
            field="fixed_addresses",
        )
    ranges = ", ".join(row.cidr for row in here) or _("it has none")
    raise InvalidIpForNetwork(
        _(
            "{address} is in no subnet of the network {network_id} ({ranges}).",
            address=asked.address,
            network_id=need.network_id,
            ranges=ranges,
        ),
        field="fixed_addresses",
    )


def _named_must_be_free(named: Sequence[IPAllocation], subnets: SubnetsHeld) -> None:
    """Raises IpAddressInUse. One statement."""
    seen: set[tuple[uuid.UUID, str]] = set()
    for row in named:
        if (row.network_id, row.address_key) in seen:
            raise IpAddressInUse(_("{address} is asked for twice.", address=row.address), field="fixed_addresses")
        seen.add((row.network_id, row.address_key))
        if row.address == subnets.by_id[row.subnet_id].metadata_address:
            reason = _("{address} is kept for the DHCP and metadata services of its subnet.", address=row.address)
            raise IpAddressInUse(reason, field="fixed_addresses")
    if not seen:
        return
    keys = {key for _rest, key in seen}
    taken = IPAllocation.objects.filter(network__in={network for network, _rest in seen}, address_key__in=keys)
    for network_id, key, address in taken.values_list("network_id", "address_key", "address"):
        if (network_id, key) in seen:
            raise IpAddressInUse(
                _("{address} is in use in network {network_id}.", address=address, network_id=network_id),
                field="fixed_addresses",
            )


def _filled(
    slots: Sequence[_Slot], candidates: Sequence[Subnet], chosen: set[tuple[uuid.UUID, str]]
) -> dict[tuple[uuid.UUID, int], IPAllocation]:
    """The first subnet gives what it has, the next one what is still missing. Adds to `chosen`."""
    found: dict[tuple[uuid.UUID, int], IPAllocation] = {}
    left = iter(slots)
    for subnet in candidates:
        keys_chosen = {key for subnet_id, key in chosen if subnet_id == subnet.pk}
        numbers = _free_in(subnet, len(slots) - len(found), keys_chosen)
        for number in numbers:
            slot = next(left)
            row = IPAllocation(
                network_id=subnet.network_id,
                subnet_id=subnet.pk,
                port_id=slot.port_id,
                address=address_text(number),
                address_key=address_key(number),
            )
            found[slot.port_id, slot.place] = row
            chosen.add((subnet.pk, row.address_key))
        if len(found) == len(slots):
            return found
    ranges = ", ".join(f"{subnet.name or subnet.pk} ({subnet.cidr})" for subnet in candidates)
    raise NoMoreAddresses(
        _(
            "{count} addresses are wanted and {found_count} are free in the pools of {ranges}.",
            count=len(slots),
            found_count=len(found),
            ranges=ranges,
        ),
        field="fixed_addresses",
        wanted=len(slots),
        free=len(found),
        network_id=str(candidates[0].network_id),
    )


def _free_in(subnet: Subnet, wanted: int, chosen: set[str]) -> list[int]:
    """Up to `wanted` free addresses of its pools, from `next_address` on, which moves behind the last one of them.

    Between two taken ones that follow each other all is free: each window that is read gives its gaps or ends behind
    WINDOW taken addresses, so that a pool costs one statement mostly, and as many as it is full of windows at worst.
    """
    pools = ranges_of(subnet.pools)
    start = int(subnet.next_address, 16) if subnet.next_address else 0
    reserved = {address_number(one) for one in (subnet.gateway, subnet.metadata_address) if one}
    reserved |= {int(key, 16) for key in chosen}
    found: list[int] = []
    for pool in search_order(pools, start):
        first = pool.first
        while first <= pool.last and len(found) < wanted:
            taken = _taken(subnet, AddressRange(first, pool.last))
            last = taken[-1] if len(taken) == WINDOW else pool.last
            free = (number for number in free_numbers(AddressRange(first, last), taken) if number not in reserved)
            found += islice(free, wanted - len(found))
            first = last + 1
    if found:
        subnet.next_address = address_key(found[-1] + 1)
    return found


def address_reserve(subnet: Subnet) -> str | None:
    """An address that services of the network itself may have, if the pools have another one free as well."""
    found = _free_in(subnet, 2, set())
    if len(found) < 2:
        return None
    subnet.next_address = address_key(found[0] + 1)
    return address_text(found[0])


def _taken(subnet: Subnet, within: AddressRange) -> list[int]:
    """The first WINDOW taken addresses of a range."""
    rows = IPAllocation.objects.filter(
        subnet=subnet.pk, address_key__gte=address_key(within.first), address_key__lte=address_key(within.last)
    )
    return [int(key, 16) for key in rows.order_by("address_key").values_list("address_key", flat=True)[:WINDOW]]


def next_addresses_save(subnets: Mapping[uuid.UUID, Subnet], given: Iterable[IPAllocation]) -> None:
    """Where the search begins next time, in one statement."""
    changed = {row.subnet_id for row in given}
    Subnet.objects.bulk_update([subnets[one] for one in sorted(changed)], ["next_address"])
