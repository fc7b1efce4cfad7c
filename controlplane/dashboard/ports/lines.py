"""Fields of a port's form with one thing in each line: such as its addresses, and the pairs that it may send from."""

import ipaddress
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext

from computeagent.protocol.networks import AddressPair
from servers.networks.domain.ports import AddressRequest

MAX_CHARS = 4000
NO_ADDRESS = "-"


class Lines(forms.CharField):
    """Lines that `read` makes a value of each; a value is shown again as `write` has it. The service judges them."""

    def __init__(self, read: Callable[[str], Any], *, write: Callable[[Any], str] | None = None, **more: Any) -> None:
        self.read, self.write = read, write or pair_line
        widget = forms.Textarea(attrs={"rows": 2, "class": "mono", "spellcheck": "false"})
        super().__init__(required=False, max_length=MAX_CHARS, widget=widget, **more)

    def to_python(self, value: Any) -> Any:
        """A value of each line. Raises ValidationError."""
        return tuple(self.read(line) for line in (super().to_python(value) or "").splitlines() if line.strip())

    def prepare_value(self, value: Any) -> Any:
        """Values as lines; what was typed as it is."""
        return value if isinstance(value, str) or value is None else "\n".join(map(self.write, value))


def address_of_line(line: str) -> str:
    """An address, the range of a subnet, or a hyphen."""
    return line.strip()


def pair_of_line(line: str) -> AddressPair:
    """An address or a range, and a MAC address where there is one. Raises ValidationError."""
    words = line.split()
    if len(words) > 2:
        raise forms.ValidationError(
            gettext("“%(line)s” is not an address, or an address and a MAC address.") % {"line": line.strip()[:80]}
        )
    return AddressPair(words[0], words[1] if len(words) > 1 else "")


def pair_line(value: AddressPair | str) -> str:
    """The line that is read as this."""
    return value if isinstance(value, str) else f"{value.address} {value.mac}".strip()


def addresses_of_lines(lines: Iterable[str], subnets: Mapping[str, uuid.UUID]) -> tuple[AddressRequest, ...]:
    """What the lines ask for in a network with these subnets, by range: this address, or any of this subnet. A hyphen
    alone asks for none. Raises ValidationError for a range that no subnet has.
    """
    wanted = tuple(lines)
    return () if wanted == (NO_ADDRESS,) else tuple(_address_of(line, subnets) for line in wanted)


def _address_of(line: str, subnets: Mapping[str, uuid.UUID]) -> AddressRequest:
    if "/" not in line:
        return AddressRequest(address=line)
    try:
        cidr = str(ipaddress.ip_network(line))
    except ValueError:
        cidr = line
    if cidr not in subnets:
        raise forms.ValidationError(
            gettext("The network has no subnet %(range)s; it has: %(ranges)s.")
            % {"range": line[:80], "ranges": ", ".join(subnets) or gettext("none")}
        )
    return AddressRequest(subnet_id=subnets[cidr])
