"""Instances on hosts that are to change their zone: how many, and how many asked for the zone that they would leave."""

from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import Exists, OuterRef

from servers.models import Instance, RequestSpec


@dataclass(frozen=True, slots=True)
class InstancesMoved:
    """Living instances on some hosts. `asked_for_zone` of them named their zone: moved or rebuilt, they look for it."""

    count: int
    asked_for_zone: int


def instances_on_hosts(*, hosts: Collection[str], zone: str) -> InstancesMoved:
    """Those on these hosts, and those that asked for `zone`. Two queries. For admins."""
    rows = Instance.objects.filter(host__in=list(hosts), deleted_at__isnull=True).order_by()
    asked = RequestSpec.objects.filter(instance_uuid=OuterRef("pk"), body__availability_zone=zone)
    return InstancesMoved(rows.count(), rows.filter(Exists(asked)).count())
