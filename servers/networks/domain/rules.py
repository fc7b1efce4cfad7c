"""Rules of security groups: what one may say, its canonical form, and the sentence that people read.

The rules of values are Neutron's: https://docs.openstack.org/api-ref/network/v2/#security-group-rules-security-group-rules
"""

import ipaddress
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace

from computeagent.protocol.networks import Direction
from controlplane.kernel.texts import Translate, gettext_noop, in_english
from controlplane.kernel.texts import phrase as _
from servers.fields import Problems, Reasons, problems_found, refuse_if, text_reasons, whole_number_reasons

PROTOCOLS: Mapping[str, int] = {
    "ah": 51,
    "dccp": 33,
    "egp": 8,
    "esp": 50,
    "gre": 47,
    "icmp": 1,
    "igmp": 2,
    "ipip": 4,
    "ipv6-encap": 41,
    "ipv6-frag": 44,
    "ipv6-icmp": 58,
    "ipv6-nonxt": 59,
    "ipv6-opts": 60,
    "ipv6-route": 43,
    "ospf": 89,
    "pgm": 113,
    "rsvp": 46,
    "sctp": 132,
    "tcp": 6,
    "udp": 17,
    "udplite": 136,
    "vrrp": 112,
}
NAMES = {number: name for name, number in PROTOCOLS.items()}
ALIASES = {"icmpv6": "ipv6-icmp", "any": ""}
WITH_PORTS = frozenset({"tcp", "udp", "sctp", "dccp", "udplite"})
ICMP, ICMPV6 = "icmp", "ipv6-icmp"
ICMPS = frozenset({ICMP, ICMPV6})
IPV6_ONLY = frozenset({ICMPV6, "ipv6-encap", "ipv6-frag", "ipv6-nonxt", "ipv6-opts", "ipv6-route"})
ANYWHERE = {4: "0.0.0.0/0", 6: "::/0"}
_SENTENCES = {
    (True, True, True): gettext_noop("Lets in {what} from {remote}."),
    (True, True, False): gettext_noop("Lets in {what} from {remote} (IPv{version})."),
    (True, False, True): gettext_noop("Lets in everything from {remote}."),
    (True, False, False): gettext_noop("Lets in everything from {remote} (IPv{version})."),
    (False, True, True): gettext_noop("Lets out {what} to {remote}."),
    (False, True, False): gettext_noop("Lets out {what} to {remote} (IPv{version})."),
    (False, False, True): gettext_noop("Lets out everything to {remote}."),
    (False, False, False): gettext_noop("Lets out everything to {remote} (IPv{version})."),
}
"""By whether it is of what comes in, whether it names a protocol, and whether it names addresses."""
MAX_PORT = 65535
MAX_ICMP = 255


@dataclass(frozen=True, slots=True)
class RuleRequest:
    """A rule that is wanted. `protocol` is a name, a number or empty (any); `remote_cidr` may have host bits. At most
    one of `remote_cidr` and `remote_group_id` is given, and none means anybody. Of ICMP the ports are type and code.
    """

    direction: str
    ip_version: int = 4
    protocol: str = ""
    port_min: int | None = None
    port_max: int | None = None
    remote_cidr: str = ""
    remote_group_id: uuid.UUID | None = None
    description: str = ""


def protocol_canonical(protocol: str, ip_version: int) -> str | None:
    """The name, or the number of a protocol without one; empty for any; None for what is no protocol.

    `icmp` of IPv6 is ICMPv6, as in Neutron: nobody means the other one.
    """
    word = protocol.strip().lower()
    word = ALIASES.get(word, word)
    if word.isdecimal() and word.isascii() and len(word) <= 3:
        number = int(word)
        word = NAMES.get(number, str(number)) if number <= 255 else "none"
    if word == ICMP and ip_version == 6:
        word = ICMPV6
    return word if not word or word in PROTOCOLS or word.isdecimal() else None


def rule_problems(request: RuleRequest) -> Problems:
    """Everything that is wrong with the rule on its own, by field."""
    directions = [each.value for each in Direction]
    wrong_way = request.direction not in directions
    if request.ip_version not in ANYWHERE:
        return {"ip_version": [_("Is {ip_version}; it must be 4 or 6.", ip_version=request.ip_version)]}
    protocol = protocol_canonical(request.protocol, request.ip_version)
    return problems_found(
        {
            "direction": [
                _(
                    "Is {direction!r:.40}; it must be one of {directions}.",
                    direction=request.direction,
                    directions=", ".join(directions),
                )
            ]
            if wrong_way
            else [],
            "protocol": _protocol_reasons(request, protocol),
            "port_min": [] if protocol is None else _port_reasons(protocol, request.port_min, request.port_max),
            "remote_cidr": _cidr_reasons(request),
            "description": text_reasons(request.description, maximum=255),
        }
    )


def rule_canonical(request: RuleRequest) -> RuleRequest:
    """The one form of all rules that say the same, its description aside. Raises InvalidFields.

    A CIDR loses its host bits, and the whole of IPv4 or IPv6 is anybody, which is what no CIDR says.
    """
    refuse_if(rule_problems(request))
    network = ipaddress.ip_network(request.remote_cidr, strict=False) if request.remote_cidr else None
    return replace(
        request,
        protocol=protocol_canonical(request.protocol, request.ip_version) or "",
        remote_cidr="" if network is None or network.prefixlen == 0 else str(network),
    )


def rule_key(rule: RuleRequest) -> str:
    """All that a canonical rule says, as one text: two rules say the same if and only if their keys are equal."""
    ports = f"{_number(rule.port_min)}-{_number(rule.port_max)}"
    remote = rule.remote_cidr or (f"group:{rule.remote_group_id}" if rule.remote_group_id else "any")
    return f"{rule.direction} {rule.ip_version} {rule.protocol or 'any'} {ports} {remote}"


def rule_sentence(rule: RuleRequest, *, group_name: str = "", translate: Translate = in_english) -> str:
    """The canonical rule for people; `group_name` is how its remote group is called.

    Such as: Lets in TCP port 22 from 10.0.0.0/8.
    """
    is_in = rule.direction == Direction.INGRESS
    if rule.remote_group_id is not None:
        remote = translate(gettext_noop("the group {name}")).format(name=group_name or rule.remote_group_id)
    else:
        remote = rule.remote_cidr or translate(gettext_noop("anywhere"))
    what = traffic_words(rule.protocol, rule.port_min, rule.port_max, translate)
    template = _SENTENCES[is_in, bool(rule.protocol), bool(rule.remote_cidr)]
    return translate(template).format(what=what, remote=remote, version=rule.ip_version)


def traffic_words(protocol: str, port_min: int | None, port_max: int | None, translate: Translate = in_english) -> str:
    """What passes, such as `TCP ports 80 to 90`."""
    if not protocol:
        return translate(gettext_noop("everything"))
    name = {ICMP: "ICMP", ICMPV6: "ICMPv6"}.get(protocol)
    if name is not None:
        template = "{name}"
        if port_min is not None and port_max is None:
            template = gettext_noop("{name} of type {first}")
        elif port_min is not None:
            template = gettext_noop("{name} of type {first} and code {last}")
        return translate(template).format(name=name, first=port_min, last=port_max)
    template = gettext_noop("IP protocol {number}") if protocol.isdecimal() else "{name}"
    name = translate(template).format(number=protocol, name=protocol.upper())
    if port_min is None:
        return name
    template = (
        gettext_noop("{name} port {first}") if port_min == port_max else gettext_noop("{name} ports {first} to {last}")
    )
    return translate(template).format(name=name, first=port_min, last=port_max)


def _number(value: int | None) -> str:
    return "" if value is None else str(value)


def _protocol_reasons(request: RuleRequest, protocol: str | None) -> Reasons:
    if protocol is None:
        names = ", ".join(sorted(PROTOCOLS))
        return [
            _(
                "Is {protocol!r:.40}; it must be a number from 0 to 255 or one of {names}.",
                protocol=request.protocol,
                names=names,
            )
        ]
    if protocol in IPV6_ONLY and request.ip_version == 4:
        return [_("{protocol} is of IPv6, and the rule is of IPv4.", protocol=protocol)]
    return []


def _port_reasons(protocol: str, first: int | None, last: int | None) -> Reasons:
    if first is None and last is None:
        return []
    if protocol in ICMPS:
        if first is None:
            return [_("A code of ICMP goes with a type only.")]
        wrong = whole_number_reasons(first, minimum=0, maximum=MAX_ICMP)
        return wrong or ([] if last is None else whole_number_reasons(last, minimum=0, maximum=MAX_ICMP))
    if protocol not in WITH_PORTS:
        return [
            _(
                "Ports go with {with_ports} only, type and code with icmp and ipv6-icmp.",
                with_ports=", ".join(sorted(WITH_PORTS)),
            )
        ]
    if first is None or last is None:
        return [_("The first and the last port go together.")]
    wrong = whole_number_reasons(first, minimum=1, maximum=MAX_PORT)
    wrong = wrong or whole_number_reasons(last, minimum=1, maximum=MAX_PORT)
    return wrong or (
        [_("The first port {first} is above the last one {last}.", first=first, last=last)] if first > last else []
    )


def _cidr_reasons(request: RuleRequest) -> Reasons:
    if not request.remote_cidr:
        return []
    if request.remote_group_id is not None:
        return [_("A rule names a network or a group, not both.")]
    try:
        network = None if "%" in request.remote_cidr else ipaddress.ip_network(request.remote_cidr, strict=False)
    except ValueError:
        network = None
    if network is None:
        return [_("{remote_cidr!r:.60} is no network such as 10.0.0.0/8.", remote_cidr=request.remote_cidr)]
    if network.version != request.ip_version:
        return [
            _(
                "{remote_cidr:.60} is of IPv{version}, and the rule is of IPv{ip_version}.",
                remote_cidr=request.remote_cidr,
                version=network.version,
                ip_version=request.ip_version,
            )
        ]
    return []
