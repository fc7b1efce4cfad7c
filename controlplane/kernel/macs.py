"""MAC addresses: their form, and new ones."""

import re
import secrets
from collections.abc import Callable
from ipaddress import IPv6Address, IPv6Network

from controlplane.kernel.texts import phrase as _

_FORM = re.compile(r"(?i)[0-9a-f]{2}(?P<mark>[:-])(?:[0-9a-f]{2}(?P=mark)){4}[0-9a-f]{2}")


def mac_canonical(text: str) -> str:
    """Lower case with colons, as rows have it."""
    return text.lower().replace("-", ":")


def mac_reasons(text: object) -> list[str]:
    """Six octets in hexadecimal, of one card: neither a group's address nor all zeros."""
    if not isinstance(text, str) or not _FORM.fullmatch(text):
        return [_("Must be a MAC address such as fa:16:3e:12:34:56, not {text!r:.40}.", text=text)]
    if int(text[:2], 16) & 1:
        return [_("{mac_canonical} is the address of a group of cards, not of one.", mac_canonical=mac_canonical(text))]
    return [_("Must not be all zeros.")] if not int(re.sub("[:-]", "", text), 16) else []


def base_mac_problem(base: str) -> str:
    """What is wrong with the setting BASE_MAC; empty where nothing is."""
    reasons = mac_reasons(base)
    return "" if not reasons else _("must be the MAC address of one card, such as fa:16:3e:00:00:00")


def mac_new(base: str, *, token_bytes: Callable[[int], bytes] = secrets.token_bytes) -> str:
    """A random address that begins with the first three octets of `base`, and with its fourth where that is not 00
    (Neutron's option base_mac).
    """
    octets = mac_canonical(base).split(":")
    fixed = 3 if octets[3] == "00" else 4
    return ":".join(octets[:fixed] + [f"{byte:02x}" for byte in token_bytes(6 - fixed)])


def eui64(network: IPv6Network, mac: str) -> IPv6Address:
    """The address in the network that follows from the MAC (RFC 4291, appendix A)."""
    octets = bytes.fromhex(mac.replace(":", ""))
    interface = bytes([octets[0] ^ 2]) + octets[1:3] + b"\xff\xfe" + octets[3:]
    return network[int.from_bytes(interface, "big")]
