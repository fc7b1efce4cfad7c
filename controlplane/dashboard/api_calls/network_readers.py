"""What of the forms of networks, subnets, routers and ports stands under which name in the body of a call."""

from typing import Any

from django.forms import ValidationError

from controlplane.dashboard.api_calls.sent import Reader, Sent, lines_of, text_of
from controlplane.dashboard.networks.pairs_of_lines import pairs_of_text
from controlplane.dashboard.ports.forms import CHECKED, NO_GROUP
from controlplane.dashboard.ports.lines import NO_ADDRESS, pair_of_line
from controlplane.dashboard.ports.resource_lines import group_of_line, groups_by_name
from controlplane.kernel.ids import parse_uuid
from servers.networks.domain.tags import tags_of_text


def objects_of_lines(name: str, first: str, second: str) -> Reader:
    """Lines of two words as objects with these two fields."""

    def read(sent: Sent) -> dict[str, Any]:
        try:
            return {name: [{first: one, second: other} for one, other in pairs_of_text(text_of(sent, name))]}
        except ValidationError:
            return {}

    return read


routes = objects_of_lines("routes", "destination", "nexthop")
"""Static routes."""


def network_tags(sent: Sent) -> dict[str, Any]:
    """Words with commas between, by the rules of networks."""
    return {"tags": tags_of_text(text_of(sent, "tags"))}


def first_tags(sent: Sent) -> dict[str, Any]:
    """Of something new."""
    found = network_tags(sent)
    return found if found["tags"] else {}


def external_network(sent: Sent) -> dict[str, Any]:
    """Null: it leads nowhere."""
    return {"external_network": text_of(sent, "external_network") or None}


def gateway(sent: Sent) -> dict[str, Any]:
    """A hyphen means that there is none; nothing, the first address."""
    text = text_of(sent, "gateway").strip()
    return {"gateway": None if text == "-" else text} if text else {}


def name_servers(sent: Sent) -> dict[str, Any]:
    """Addresses with commas or spaces between."""
    found = text_of(sent, "dns_servers").replace(",", " ").split()
    return {"dns_servers": found} if found else {}


def of_subnet(sent: Sent) -> dict[str, Any]:
    """What may change of one. Without pools, all addresses but the gateway's are given."""
    pools = objects_of_lines("pools", "first", "last")(sent).get("pools") or None
    return {**gateway(sent), "dns_servers": [], **name_servers(sent), "pools": pools}


def of_new_subnet(sent: Sent) -> dict[str, Any]:
    """What is not said is left out."""
    lines = objects_of_lines("pools", "first", "last")(sent) | routes(sent)
    return {**gateway(sent), **name_servers(sent), **{name: found for name, found in lines.items() if found}}


def fixed_addresses(sent: Sent) -> dict[str, Any]:
    """Nothing where nothing is said. The id of a subnet that is named by its range is left to be filled in."""
    lines = lines_of(sent, "fixed_addresses")
    found = [{"subnet": f"ID-OF-{one}"} if "/" in one else {"address": one} for one in lines if one != NO_ADDRESS]
    return {"fixed_addresses": found} if lines else {}


def groups_of_port(sent: Sent) -> dict[str, Any]:
    """Those that are marked, and no others."""
    return {"security_groups": [one for one in sent.get("security_groups", []) if one != NO_GROUP]}


def groups_of_new_port(sent: Sent) -> dict[str, Any]:
    """Nothing where none is marked: it gets the default one."""
    return groups_of_port(sent) if sent.get("security_groups") else {}


def security_of_new_port(sent: Sent) -> dict[str, Any]:
    """Nothing where it is as the network has it."""
    chosen = "".join(sent.get("has_security", []))
    return {"has_security": chosen == CHECKED} if chosen else {}


def allowed_pairs(sent: Sent) -> dict[str, Any]:
    """Nothing for a line that is no pair."""
    try:
        pairs = [pair_of_line(line) for line in lines_of(sent, "allowed_pairs")]
    except ValidationError:
        return {}
    return {"allowed_pairs": [{"address": one.address} | ({"mac": one.mac} if one.mac else {}) for one in pairs]}


def resource_request(sent: Sent) -> dict[str, Any]:
    """Nothing for a line that is no group."""
    try:
        groups = tuple(group_of_line(line) for line in lines_of(sent, "resource_request"))
        return {"resource_request": groups_by_name(groups)}
    except ValidationError:
        return {}


def first_resource_request(sent: Sent) -> dict[str, Any]:
    """Of a new port."""
    found = resource_request(sent)
    return found if found.get("resource_request") else {}


def other_project(sent: Sent) -> dict[str, Any]:
    """The id of one that is named is left to be filled in."""
    named = text_of(sent, "project").strip()
    return {"project": str(parse_uuid(named) or f"ID-OF-{named}")} if named else {}


NEW_PORT: tuple[Reader, ...] = (
    fixed_addresses,
    groups_of_new_port,
    security_of_new_port,
    allowed_pairs,
    first_tags,
)
"""What of the form of a new port is no plain text."""
PORT: tuple[Reader, ...] = (fixed_addresses, groups_of_port, allowed_pairs, network_tags)
"""The same of one that is there."""
