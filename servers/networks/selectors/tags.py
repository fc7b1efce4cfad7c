"""Reading tags of what networks are made of."""

import uuid
from collections.abc import Iterable
from enum import StrEnum

from django.db.models import Q, QuerySet

from controlplane.identity.domain import Caller
from controlplane.kernel.errors import Forbidden, NotFound
from controlplane.kernel.texts import phrase as _
from servers.models import FloatingIP, Network, Port, Router, SecurityGroup, Subnet
from servers.networks.domain.errors import NetworkNotFound, PortNotFound, SecurityGroupNotFound, SubnetNotFound
from servers.networks.domain.routing_errors import FloatingIPNotFound, RouterNotFound
from servers.networks.selectors.floating_ips import floating_ips_visible
from servers.networks.selectors.groups import groups_visible
from servers.networks.selectors.networks import networks_visible
from servers.networks.selectors.ports import ports_visible
from servers.networks.selectors.routers import routers_visible
from servers.networks.selectors.subnets import subnets_visible

TaggedRow = Network | Subnet | Port | Router | FloatingIP | SecurityGroup


class TaggedKind(StrEnum):
    """What can have tags, by the names that the audit log has for it."""

    NETWORK = "network"
    SUBNET = "subnet"
    PORT = "port"
    ROUTER = "router"
    FLOATING_IP = "floating_ip"
    SECURITY_GROUP = "security_group"


_NOT_FOUND: dict[TaggedKind, type[NotFound]] = {
    TaggedKind.NETWORK: NetworkNotFound,
    TaggedKind.SUBNET: SubnetNotFound,
    TaggedKind.PORT: PortNotFound,
    TaggedKind.ROUTER: RouterNotFound,
    TaggedKind.FLOATING_IP: FloatingIPNotFound,
    TaggedKind.SECURITY_GROUP: SecurityGroupNotFound,
}


def tags_of(*, caller: Caller | None, kind: TaggedKind, resource_id: uuid.UUID) -> list[str]:
    """The tags of one thing, sorted. Raises the NotFound of its kind."""
    return list(tagged_get(tagged_visible(caller, kind), kind, resource_id).tags)


def tags_in(texts: Iterable[str]) -> list[str]:
    """The tags that parameters of a list name: a comma stands between two of them."""
    return [tag for text in texts for tag in text.split(",") if tag]


def has_all_tags(tags: Iterable[str]) -> Q:
    """What has each of these tags."""
    found = Q()
    for tag in tags:
        found &= Q(tags__holds=tag)
    return found


def has_any_tag(tags: Iterable[str]) -> Q:
    """What has one of these tags at least."""
    found = Q(pk__in=[])
    for tag in tags:
        found |= Q(tags__holds=tag)
    return found


def tagged_visible(caller: Caller | None, kind: TaggedKind) -> QuerySet[TaggedRow]:
    """Those of a kind that the caller may know of."""
    rows: QuerySet[TaggedRow]
    match kind:
        case TaggedKind.NETWORK:
            rows = networks_visible(caller)
        case TaggedKind.SUBNET:
            rows = subnets_visible(caller)
        case TaggedKind.PORT:
            rows = ports_visible(caller)
        case TaggedKind.ROUTER:
            rows = routers_visible(caller=caller)
        case TaggedKind.FLOATING_IP:
            rows = floating_ips_visible(caller=caller)
        case TaggedKind.SECURITY_GROUP:
            rows = groups_visible(caller=caller)
    return rows


def owns_tags(caller: Caller | None, row: TaggedRow) -> bool:
    """Whether the caller's project may change the tags of a row; always without a caller."""
    return caller is None or caller.is_admin or row.project_id == caller.own_project_id


def own_tags_require(caller: Caller | None, row: TaggedRow) -> None:
    """Raises Forbidden for who sees it and does not own it."""
    if not owns_tags(caller, row):
        raise Forbidden(_("It belongs to another project; only that and administrators change its tags."))


def tagged_get(rows: QuerySet[TaggedRow], kind: TaggedKind, resource_id: uuid.UUID) -> TaggedRow:
    """One of the rows. Raises the NotFound of its kind."""
    row = rows.filter(pk=resource_id).first()
    if row is None:
        words = kind.value.replace("_", " ").capitalize()
        raise _NOT_FOUND[kind](_("{words} {resource_id} does not exist.", words=words, resource_id=resource_id))
    return row
