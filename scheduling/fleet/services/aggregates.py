"""Aggregates and, through their metadata, availability zones. Placement's aggregates are kept in step."""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now

from controlplane.kernel.errors import Conflict, Invalid, NotFound
from controlplane.work.hints import HOSTS, changed
from scheduling.errors import HostInUse, ZoneConflict
from scheduling.fleet.services.providers import host_aggregates_mirror
from scheduling.models import Aggregate, AggregateHost, HostMapping
from scheduling.models.aggregate import ZONE_KEY

NAME_MAX = 255


def aggregate_create(
    *, name: str, metadata: Mapping[str, str] | None = None, availability_zone: str | None = None
) -> Aggregate:
    """A new aggregate without hosts. `availability_zone` is short for that metadata key. Raises Invalid, Conflict."""
    wanted = dict(metadata or {})
    if availability_zone is not None:
        wanted[ZONE_KEY] = availability_zone
    with transaction.atomic():
        _check_name(name)
        return Aggregate.objects.create(name=name, metadata=_checked_metadata(wanted))


def aggregate_update(
    *, aggregate_id: UUID, name: str | None = None, metadata: Mapping[str, str | None] | None = None
) -> Aggregate:
    """Rename it, or merge `metadata` into what it has (None removes a key). One transaction.

    Raises ZoneConflict when a changed zone would put one of its hosts into two.
    """
    with transaction.atomic():
        aggregate = _locked(aggregate_id)
        if name is not None and name != aggregate.name:
            _check_name(name)
            aggregate.name = name
        if metadata is not None:
            aggregate.metadata = _checked_metadata(_merged(aggregate.metadata, metadata))
            _check_zone_of_hosts(aggregate, _lock_hosts(aggregate.members.values_list("host", flat=True)))
        aggregate.save(update_fields=["name", "metadata", "updated_at"])
    return aggregate


def aggregate_delete(*, aggregate_id: UUID) -> None:
    """Delete an aggregate that has no hosts. Raises HostInUse when it has some, as Nova does."""
    with transaction.atomic():
        aggregate = _locked(aggregate_id)
        hosts = aggregate.members.count()
        if hosts:
            raise HostInUse(f"Aggregate {aggregate.name} still has {hosts} host(s): remove them first.", hosts=hosts)
        aggregate.delete()


def aggregate_host_add(*, aggregate_id: UUID, host: str) -> Aggregate:
    """Put a registered host into the aggregate. Raises NotFound, Conflict (is in it), ZoneConflict."""
    with transaction.atomic():
        aggregate = _locked(aggregate_id)
        _check_zone_of_hosts(aggregate, _lock_hosts([host]))
        _, made = AggregateHost.objects.get_or_create(aggregate=aggregate, host=host)
        if not made:
            raise Conflict(f"Host {host} is in aggregate {aggregate.name} already.", field="host")
        _touch(aggregate)
        host_aggregates_mirror(host=host)
    return aggregate


def aggregate_host_remove(*, aggregate_id: UUID, host: str) -> Aggregate:
    """Take a host out of the aggregate. Raises NotFound when it is not in it."""
    with transaction.atomic():
        aggregate = _locked(aggregate_id)
        removed, _ = AggregateHost.objects.filter(aggregate=aggregate, host=host).delete()
        if not removed:
            raise NotFound(f"Host {host} is not in aggregate {aggregate.name}.", field="host")
        _touch(aggregate)
        host_aggregates_mirror(host=host)
    return aggregate


def _locked(aggregate_id: UUID) -> Aggregate:
    aggregate = Aggregate.objects.select_for_update().filter(id=aggregate_id).first()
    if aggregate is None:
        raise NotFound(f"There is no aggregate {aggregate_id}.")
    return aggregate


def _touch(aggregate: Aggregate) -> None:
    Aggregate.objects.filter(id=aggregate.id).update(updated_at=Now())
    changed(HOSTS)


def _check_name(name: str) -> None:
    if not name.strip() or len(name) > NAME_MAX:
        raise Invalid(f"An aggregate needs a name of 1 to {NAME_MAX} characters.", field="name")
    if Aggregate.objects.filter(name=name).exists():
        raise Conflict(f"An aggregate named {name} exists already.", field="name")


def _merged(old: Mapping[str, str], changes: Mapping[str, str | None]) -> dict[str, Any]:
    return {key: value for key, value in {**old, **changes}.items() if value is not None}


def _checked_metadata(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Text to text, each at most 255 characters; a zone's name is not empty and has no colon (`zone:host`)."""
    for key, value in metadata.items():
        if not isinstance(value, str) or not 0 < len(str(key)) <= 255 or len(value) > 255:
            raise Invalid(
                "Metadata maps text to text, keys of 1 to 255 and values of up to 255 characters.", field="metadata"
            )
    zone = metadata.get(ZONE_KEY)
    if zone is not None and (not zone.strip() or ":" in zone):
        raise Invalid("A zone's name is not empty and has no colon.", field="metadata")
    return dict(metadata)


def _lock_hosts(hosts: Iterable[str]) -> list[str]:
    """Lock the hosts' mappings in a fixed order, so that no two changes put one host into two zones."""
    wanted = sorted(set(hosts))
    mappings = HostMapping.objects.select_for_update().filter(host__in=wanted).order_by("host")
    found = [mapping.host for mapping in mappings]
    missing = [host for host in wanted if host not in found]
    if missing:
        raise NotFound(f"There is no host {missing[0]}.", field="host")
    return found


def _check_zone_of_hosts(aggregate: Aggregate, hosts: list[str]) -> None:
    zone = aggregate.availability_zone
    if zone is None or not hosts:
        return
    others = AggregateHost.objects.filter(host__in=hosts).exclude(aggregate=aggregate).select_related("aggregate")
    for member in others:
        other = member.aggregate.availability_zone
        if other is not None and other != zone:
            raise ZoneConflict(
                f"Host {member.host} is in availability zone {other} (aggregate {member.aggregate.name}) "
                f"and cannot be in {zone} too.",
                field="host",
                host=member.host,
                zone=other,
                wanted_zone=zone,
            )
