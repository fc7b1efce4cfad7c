"""What is in security groups, and how much of it there is."""

import uuid
from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import Count
from django.db.models.functions import Coalesce

from controlplane.infra.related_count import related_count
from servers.models import Instance, Port, PortGroup, SecurityGroupRule

MAX_SHOWN = 200


@dataclass(frozen=True, slots=True)
class GroupPort:
    """A port of the group, with the name of its instance; empty where it has none that lives."""

    port: Port
    instance_name: str


def group_port_counts(group_ids: Collection[uuid.UUID]) -> dict[uuid.UUID, int]:
    """How many ports are in each of these groups that has any. One query."""
    counted = PortGroup.objects.filter(group__in=group_ids).order_by().values_list("group").annotate(Count("pk"))
    return dict(counted)


def group_ports(group_id: uuid.UUID) -> list[GroupPort]:
    """The first of its ports, by the order in which they were made. Two queries."""
    ports = list(Port.objects.filter(groups=group_id).order_by("created_at", "pk")[:MAX_SHOWN])
    ids = {port.instance_uuid for port in ports} - {None}
    names = dict(Instance.objects.filter(pk__in=ids, deleted_at=None).values_list("pk", "name")) if ids else {}
    return [GroupPort(port, names.get(port.instance_uuid, "") if port.instance_uuid else "") for port in ports]


def port_count() -> Coalesce:
    """Of the ports that are in each group; to sort groups by."""
    return related_count(PortGroup.objects.all(), "group")


def rule_count(direction: str) -> Coalesce:
    """Of the rules of each group in one direction; to sort groups by."""
    return related_count(SecurityGroupRule.objects.filter(direction=direction), "group")
