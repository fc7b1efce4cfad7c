"""What a new port may be asked for, and the rules of it that need no row."""

import ipaddress
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from computeagent.protocol.networks import AddressPair
from controlplane.kernel.macs import mac_canonical, mac_reasons
from controlplane.kernel.texts import Phrase, gettext_noop
from controlplane.kernel.texts import phrase as _
from servers.fields import Problems, Reasons, problems_found, text_reasons
from servers.networks.domain.names import PortOwner, VnicType
from servers.networks.domain.port_resources import resource_request_reasons

MAX_FIXED_ADDRESSES = 5
"""Neutron's max_fixed_ips_per_port."""
MAX_ALLOWED_PAIRS = 10
"""Neutron's max_allowed_address_pair."""
MAX_GROUPS = 64
MAX_TAG_CHARACTERS = 60


@dataclass(frozen=True, slots=True)
class AddressRequest:
    """An address that a port is to have: any of a subnet, this one of a subnet, this one of whichever subnet of the
    network it is in, or any of this IP version. At least one of them is given.
    """

    subnet_id: uuid.UUID | None = None
    address: str = ""
    ip_version: int | None = None


@dataclass(frozen=True, slots=True)
class PortRequest:
    """A port that is wanted in a network.

    `project_id` None: the installation's, as the ports of floating addresses and gateways are; no quota counts it.
    `fixed` None: an address of each IP version that the network has subnets of, as in Neutron; empty: no address.
    `group_ids` None: the default group of the project; empty: none, so that nothing passes.
    `has_security` None: as the network has it. `mac` empty: a new one. `host` is where it is bound already.
    `resource_request` is what Placement is asked for it, such as bandwidth: by administrators alone.
    """

    network_id: uuid.UUID
    project_id: uuid.UUID | None
    id: uuid.UUID = field(default_factory=uuid.uuid4)
    name: str = ""
    description: str = ""
    mac: str = ""
    fixed: tuple[AddressRequest, ...] | None = None
    group_ids: tuple[uuid.UUID, ...] | None = None
    allowed_pairs: tuple[AddressPair, ...] = ()
    has_security: bool | None = None
    is_enabled: bool = True
    owner: PortOwner = PortOwner.NOBODY
    instance_uuid: uuid.UUID | None = None
    is_of_instance: bool = False
    router_id: uuid.UUID | None = None
    position: int = 0
    tag: str = ""
    host: str = ""
    vnic_type: VnicType = VnicType.NORMAL
    resource_request: Mapping[str, Any] = field(default_factory=dict)


def port_problems(request: PortRequest) -> Problems:
    """What is wrong with a request on its own, by field."""
    return problems_found(
        {
            "name": text_reasons(request.name, maximum=255),
            "description": text_reasons(request.description, maximum=255),
            "mac": mac_reasons(request.mac) if request.mac else [],
            "fixed_addresses": addresses_reasons(request.fixed or ()),
            "security_groups": _groups_reasons(request),
            "allowed_pairs": pairs_reasons(request.allowed_pairs, has_security=request.has_security is not False),
            "tag": text_reasons(request.tag, maximum=MAX_TAG_CHARACTERS),
            "resource_request": resource_request_reasons(request.resource_request),
        }
    )


def addresses_reasons(addresses: Sequence[AddressRequest]) -> Reasons:
    """At most MAX_FIXED_ADDRESSES, each with a subnet or an address, no address twice."""
    if len(addresses) > MAX_FIXED_ADDRESSES:
        return [
            _(
                "{count} addresses are asked for; a port has at most {max_fixed_addresses}.",
                count=len(addresses),
                max_fixed_addresses=MAX_FIXED_ADDRESSES,
            )
        ]
    reasons, named = [], set()
    for each in addresses:
        if not each.address:
            reasons += [] if each.subnet_id or each.ip_version else [_("Each needs a subnet, an address or both.")]
        elif wrong := address_reasons(each.address):
            reasons += wrong
        elif (canonical := address_canonical(each.address)) in named:
            reasons.append(_("{canonical} is asked for twice.", canonical=canonical))
        else:
            named.add(canonical)
    return reasons


def pairs_reasons(pairs: Sequence[AddressPair], *, has_security: bool) -> Reasons:
    """At most MAX_ALLOWED_PAIRS, of addresses or networks and, where named, MAC addresses; none twice. A port without
    security may send from any address, so that it has no use for them (refused, as in Neutron).
    """
    if pairs and not has_security:
        return [_("A port without port security may send from any address: it takes no pairs.")]
    if len(pairs) > MAX_ALLOWED_PAIRS:
        return [
            _(
                "Are {count}; at most {max_allowed_pairs} are allowed.",
                count=len(pairs),
                max_allowed_pairs=MAX_ALLOWED_PAIRS,
            )
        ]
    reasons: Reasons = []
    for pair in pairs:
        reasons += network_reasons(pair.address)
        reasons += mac_reasons(pair.mac) if pair.mac else []
    if reasons:
        return reasons
    canonical = [pair_canonical(pair) for pair in pairs]
    return [] if len(set(canonical)) == len(canonical) else [_("One of them is there twice.")]


def pair_canonical(pair: AddressPair) -> AddressPair:
    """As rows have it: a network of one address is that address."""
    network = ipaddress.ip_network(pair.address)
    address = str(network.network_address) if network.num_addresses == 1 else str(network)
    return AddressPair(address=address, mac=mac_canonical(pair.mac))


def address_reasons(text: object) -> Reasons:
    """An IPv4 or IPv6 address, without a zone."""
    try:
        if isinstance(text, str) and "%" not in text:
            ipaddress.ip_address(text)
            return []
    except ValueError:
        pass
    return [_("{text!r:.60} is no IP address.", text=text)]


def address_canonical(text: str) -> str:
    """As rows have it."""
    return str(ipaddress.ip_address(text))


def network_reasons(text: object) -> Reasons:
    """An address, or a network in CIDR form whose host bits are zero."""
    try:
        if isinstance(text, str) and "%" not in text:
            ipaddress.ip_network(text)
            return []
    except ValueError:
        pass
    return [_("{text!r:.60} is neither an IP address nor a network such as 10.1.0.0/16.", text=text)]


def _groups_reasons(request: PortRequest) -> Reasons:
    groups = request.group_ids or ()
    if groups and request.has_security is False:
        return [_("A port without port security has no security groups.")]
    if len(groups) > MAX_GROUPS:
        return [_("Are {count}; a port has at most {max_groups}.", count=len(groups), max_groups=MAX_GROUPS)]
    return [] if len(set(groups)) == len(groups) else [_("One of them is there twice.")]


def vnic_reasons(vnic_type: str, network: object, physical_network: str) -> Reasons:
    """Whether a port of a network can be a device of a host: a device is on the wire of a physical network alone."""
    if vnic_type == VnicType.NORMAL or physical_network:
        return []
    reason = _(
        "A port of type {vnic_type} is a device on a physical network, and network {network} is on none.",
        vnic_type=vnic_type,
        network=network,
    )
    return [reason]


def privilege_problems(request: PortRequest, *, is_network_owner: bool, has_network_security: bool) -> Problems:
    """What only the owner of the network, and admins, may ask of a port in it (Neutron's default policy).

    In a network of somebody else a project takes the MAC address and the IP address it is given. It may choose among
    the subnets.
    """
    if is_network_owner:
        return {}
    addresses = request.fixed or ()
    only = gettext_noop("Only the owner of the network and administrators may choose {what} in it.")
    changed_security = request.has_security is not None and request.has_security != has_network_security
    return problems_found(
        {
            "mac": [Phrase(only, what=_("a MAC address"))] if request.mac else [],
            "fixed_addresses": [Phrase(only, what=_("an IP address"))]
            if any(each.address for each in addresses)
            else [],
            "has_security": [Phrase(only, what=_("port security"))] if changed_security else [],
            "allowed_pairs": [Phrase(only, what=_("more addresses to send from"))] if request.allowed_pairs else [],
        }
    )
