"""Network interfaces as a request for instances names them, and what is wrong with their form.

Sources: `networks` of Nova's server schema and `nova.network.neutron.validate_networks`.
"""

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from controlplane.kernel.texts import phrase as _
from servers.fields import Reasons, text_reasons
from servers.instances.domain.instance_rules import tags_reasons

AUTO, NONE = "auto", "none"
MAX_NICS = 16
"""Interfaces of one instance: as many as a guest has slots for beside its other devices."""
_KEYS = ("network", "port", "fixed_ip", "tag")


@dataclass(frozen=True, slots=True)
class NicWanted:
    """One interface as a request says it: a `network` (id or name), and an address of it, or a `port` that is there.

    `is_address_wrong`: nothing but the form of its address is wrong with it.
    """

    network: str = ""
    port: str = ""
    fixed_ip: str = ""
    tag: str = ""
    is_address_wrong: bool = False


@dataclass(frozen=True, slots=True)
class NicsWanted:
    """What a request says of networks: a list, or one of the two words; `is_said` is False where it says nothing.

    `is_address_wrong`: all that is wrong with its form are addresses.
    """

    nics: tuple[NicWanted, ...] = ()
    word: str = ""
    is_address_wrong: bool = False

    @property
    def is_said(self) -> bool:
        """Whether it says anything. An empty list says nothing, as in Nova."""
        return bool(self.nics or self.word)


def nics_parse(value: object) -> tuple[NicsWanted, Reasons]:
    """The value of `networks`, and what is wrong with its form. None says nothing."""
    if value is None:
        return NicsWanted(), []
    if isinstance(value, str):
        known = value in (AUTO, NONE)
        return NicsWanted(word=value) if known else NicsWanted(), (
            []
            if known
            else [_("Must be a list, {auto} or {none}, not {value!r:.40}.", auto=AUTO, none=NONE, value=value)]
        )
    if not isinstance(value, Sequence):
        return NicsWanted(), [
            _("Must be a list, {auto} or {none}, not {name}.", auto=AUTO, none=NONE, name=type(value).__name__)
        ]
    if len(value) > MAX_NICS:
        return NicsWanted(), [
            _("Has {count} interfaces; an instance has at most {max_nics}.", count=len(value), max_nics=MAX_NICS)
        ]
    reasons: Reasons = []
    nics = []
    wrong_by_address = set()
    for number, each in enumerate(value):
        nic, wrong = nic_parse(each)
        reasons += [f"Interface {number}: {reason}" for reason in wrong]
        nics.append(nic)
        if wrong:
            wrong_by_address.add(nic.is_address_wrong)
    return NicsWanted(tuple(nics), is_address_wrong=wrong_by_address == {True}), reasons or _together_reasons(nics)


def nic_parse(value: object) -> tuple[NicWanted, Reasons]:
    """One interface, and what is wrong with its form."""
    if not isinstance(value, Mapping):
        return NicWanted(), [_("must be an object, not {name}.", name=type(value).__name__)]
    if unknown := [key for key in value if key not in _KEYS]:
        return NicWanted(), [_("has no {unknown!r:.40}; it takes {keys}.", unknown=unknown[0], keys=", ".join(_KEYS))]
    said = {key: value[key] for key in _KEYS if value.get(key) not in (None, "")}
    unreadable = {key: found for key, text in said.items() if (found := text_reasons(text, maximum=255))}
    if unreadable:
        reasons = [f"{key}: {reason}" for key, found in unreadable.items() for reason in found]
        return NicWanted(is_address_wrong=set(unreadable) == {"fixed_ip"}), reasons
    nic = NicWanted(**said)
    if bool(nic.network) == bool(nic.port):
        return nic, [_("names both a network and a port.") if nic.network else _("names neither a network nor a port.")]
    if nic.fixed_ip and nic.port:
        return replace(nic, is_address_wrong=True), [
            _(
                "fixed_ip {fixed_ip:.45} cannot be given with a port, which has its addresses already.",
                fixed_ip=nic.fixed_ip,
            )
        ]
    reasons = [f"tag: {reason}" for reason in tags_reasons([nic.tag])] if nic.tag else []
    address, no_address = address_parse(nic.fixed_ip)
    is_address_wrong = bool(no_address) and not reasons
    return replace(nic, fixed_ip=address, is_address_wrong=is_address_wrong), [*no_address, *reasons]


def address_parse(text: str) -> tuple[str, Reasons]:
    """An address in canonical form; empty text stays empty."""
    if not text:
        return "", []
    try:
        if "%" in text:
            raise ValueError
        return str(ipaddress.ip_address(text)), []
    except ValueError:
        return "", [_("{text!r:.60} is no IP address.", text=text)]


def _together_reasons(nics: Sequence[NicWanted]) -> Reasons:
    """No port, tag, or address of a network twice."""
    for what, values in (
        ("port", [nic.port for nic in nics if nic.port]),
        ("tag", [nic.tag for nic in nics if nic.tag]),
        ("address", [f"{nic.fixed_ip} of {nic.network}" for nic in nics if nic.fixed_ip]),
    ):
        for value in values:
            if values.count(value) > 1:
                return [_("The {what} {value:.80} is there twice.", what=what, value=value)]
    return []


def batch_nic_reasons(nics: Sequence[NicWanted], count: int) -> Reasons:
    """What only one instance can have: a port that is there, and an address."""
    if count < 2:
        return []
    reasons = []
    if any(nic.port for nic in nics):
        reasons.append(_("A port can be given to one instance only, and up to {count} are asked for.", count=count))
    if any(nic.fixed_ip for nic in nics):
        reasons.append(_("An address can be given to one instance only, and up to {count} are asked for.", count=count))
    return reasons


def is_address_in(address: str, cidrs: Sequence[str]) -> bool:
    """Whether the address is in one of these ranges."""
    found = ipaddress.ip_address(address)
    ranges = [ipaddress.ip_network(cidr) for cidr in cidrs]
    return any(found.version == one.version and found in one for one in ranges)


def nics_that_fit(*, wanted: int, each: int, used: int, limit: int) -> int:
    """For how many of `wanted` instances the ports suffice, each of which needs so many. A limit of -1 is none."""
    if each == 0 or limit < 0:
        return wanted
    return max(0, min(wanted, (limit - used) // each))
