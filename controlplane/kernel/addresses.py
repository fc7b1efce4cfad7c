"""Which addresses may be reached for somebody who chose them: public ones, and those that a setting names.

Whoever gives the URL of a webhook or of an image chooses where the conductor sends requests, and sees something of the
answer. Without this rule that opens the conductor's own machine, its cloud's metadata service and the networks behind
it.
"""

import socket
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

from controlplane.kernel.texts import phrase as _

Address = IPv4Address | IPv6Address
NAT64 = IPv6Network("64:ff9b::/96")


class AddressRefused(PermissionError):
    """A name was found, but none of its addresses may be reached."""


def addresses_resolve(host: str, port: int, *, allowed_networks: Sequence[str], setting: str) -> list[str]:
    """The addresses of `host` that may be reached, in the resolver's order. Raises OSError when there is none, as
    AddressRefused where there are some that may not.

    `setting` is the name of the one that holds `allowed_networks`. Connect to one of these, never to the name again:
    a second look-up may give another answer.
    """
    found = list(dict.fromkeys(str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)))
    may_reach = [one for one in found if is_allowed(one, allowed_networks=allowed_networks)]
    if not may_reach:
        raise AddressRefused(refusal(found[0], setting) if found else _("{host} has no address", host=host))
    return may_reach


def is_allowed(address: str, *, allowed_networks: Sequence[str]) -> bool:
    """Whether this address is public or in one of the networks. An IPv4 address inside an IPv6 one counts as itself."""
    found = _innermost(ip_address(address))
    if any(found in ip_network(network) for network in allowed_networks):
        return True
    return found.is_global and not found.is_multicast


def refusal(address: str, setting: str) -> str:
    """Why nothing goes there; `setting` is the name of the one that holds `allowed_networks`."""
    return _(
        "{address} is a loopback, link-local, private or otherwise reserved address; "
        "{setting} names those that may be reached",
        address=address,
        setting=setting,
    )


def _innermost(address: Address) -> Address:
    if isinstance(address, IPv4Address):
        return address
    if address in NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    teredo = address.teredo[1] if address.teredo else None
    return address.ipv4_mapped or address.sixtofour or teredo or address
