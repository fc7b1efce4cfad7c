"""Addresses as numbers of one order: an IPv4 address stands where IPv6 maps it (::ffff:0:0/96), so that the two
versions never meet and 32 hexadecimal digits sort as the addresses do.
"""

import ipaddress
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
IpNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network

_MAPPED = 0xFFFF << 32
MAPPED_NETWORK = ipaddress.IPv6Network("::ffff:0:0/96")
"""Where IPv4 addresses stand: no subnet of IPv6 may be in it."""


def address_number(address: str | IpAddress) -> int:
    """Its place in the order. Raises ValueError for text that is no address."""
    found = ipaddress.ip_address(address) if isinstance(address, str) else address
    return int(found) + _MAPPED if found.version == 4 else int(found)


def address_key(number: int) -> str:
    """The number as databases keep and sort it."""
    return f"{number:032x}"


def address_text(number: int) -> str:
    """The address in canonical form."""
    if _MAPPED <= number < _MAPPED + 2**32:
        return str(ipaddress.IPv4Address(number - _MAPPED))
    return str(ipaddress.IPv6Address(number))


@dataclass(frozen=True, slots=True, order=True)
class AddressRange:
    """Numbers of addresses from `first` to `last`, both in it."""

    first: int
    last: int

    def __contains__(self, number: int) -> bool:
        return self.first <= number <= self.last

    @property
    def size(self) -> int:
        """How many addresses are in it."""
        return self.last - self.first + 1


def ranges_of(pools: Sequence[Sequence[str]]) -> list[AddressRange]:
    """The pools of a subnet, as rows keep them, in ascending order."""
    return sorted(AddressRange(address_number(first), address_number(last)) for first, last in pools)


def network_range(cidr: str) -> AddressRange:
    """All addresses of a network, the first and the last one included."""
    network = ipaddress.ip_network(cidr)
    return AddressRange(address_number(network.network_address), address_number(network.broadcast_address))


def host_range(cidr: str) -> AddressRange:
    """The addresses that a host may have.

    Of IPv4 neither the network's own nor the broadcast address; of IPv6 not the first, which every router answers to.
    Networks of two addresses or one have no such (RFC 3021, RFC 6164).
    """
    network, whole = ipaddress.ip_network(cidr), network_range(cidr)
    if network.num_addresses <= 2:
        return whole
    return AddressRange(whole.first + 1, whole.last - (1 if network.version == 4 else 0))


def search_order(pools: Sequence[AddressRange], start: int) -> list[AddressRange]:
    """The pools in the order in which they are searched: from `start` to the end, then what is before it."""
    after = [AddressRange(max(one.first, start), one.last) for one in pools if one.last >= start]
    before = [AddressRange(one.first, min(one.last, start - 1)) for one in pools if one.first < start]
    return after + before


def free_numbers(within: AddressRange, taken: Sequence[int]) -> Iterator[int]:
    """The addresses of a range that are not among the taken ones, which ascend."""
    number = within.first
    for each in taken:
        yield from range(number, each)
        number = max(number, each + 1)
    yield from range(number, within.last + 1)
