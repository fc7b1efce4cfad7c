"""Aggregates and, through their metadata, availability zones. Placement's aggregates are kept in step."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from controlplane.audit_log.recording.audited import audited
from controlplane.kernel.errors import Conflict, Invalid, InvalidFields, NotFound
from controlplane.kernel.texts import phrase as _
from controlplane.work.hints import HOSTS, changed
from scheduling.domain.zone_names import zone_name_problem
from scheduling.errors import HostInUse
from scheduling.fleet.services.host_zones import zone_of_hosts_check, zones_unchanged
from scheduling.fleet.services.providers import host_aggregates_mirror
from scheduling.models import Aggregate, AggregateHost, HostMapping
from scheduling.models.aggregate import ZONE_KEY

NAME_MAX = 255
MAX_HOSTS_AT_ONCE = 500
"""Hosts that one save puts in or takes out: each has its providers in Placement kept in step."""


@audited("aggregate.create", Aggregate)
def aggregate_create(
    *, name: str, metadata: Mapping[str, str] | None = None, availability_zone: str | None = None
) -> Aggregate:
    """A new aggregate without hosts. `availability_zone` is short for that metadata key. Raises Invalid, Conflict."""
    wanted = dict(metadata or {})
    if availability_zone is not None:
        wanted[ZONE_KEY] = availability_zone
    with transaction.atomic():
        _check_name(name, Aggregate.objects.all())
        return Aggregate.objects.create(name=name, metadata=_checked_metadata(wanted))


@audited("aggregate.update", Aggregate, by="aggregate_id")
def aggregate_update(
    *, aggregate_id: UUID, name: str | None = None, metadata: Mapping[str, str | None] | None = None
) -> Aggregate:
    """Rename it, or merge `metadata` into what it has (None removes a key). One transaction.

    Raises ZoneConflict when a changed zone would put one of its hosts into two, and HostInUse when one of them has
    instances, which keep their zone.
    """
    with transaction.atomic():
        aggregate = _locked(aggregate_id)
        if name is not None and name != aggregate.name:
            _check_name(name, Aggregate.objects.all())
            aggregate.name = name
        if metadata is not None:
            aggregate.metadata = _checked_metadata(_merged(aggregate.metadata, metadata))
        hosts = [] if metadata is None else list(aggregate.members.values_list("host", flat=True))
        with zones_unchanged(hosts):
            zone_of_hosts_check(aggregate, hosts)
            aggregate.save(update_fields=["name", "metadata", "updated_at"])
    return aggregate


@audited("aggregate.delete", Aggregate, by="aggregate_id")
def aggregate_delete(*, aggregate_id: UUID) -> None:
    """Delete an aggregate that has no hosts. Raises HostInUse when it has some, as Nova does."""
    with transaction.atomic():
        aggregate = _locked(aggregate_id)
        hosts = aggregate.members.count()
        if hosts:
            raise HostInUse(
                _(
                    "Aggregate {aggregate} still has {hosts} host(s): remove them first.",
                    aggregate=aggregate.name,
                    hosts=hosts,
                ),
                hosts=hosts,
            )
        aggregate.delete()


@audited("aggregate.host_add", Aggregate, by="aggregate_id", also=("host",))
def aggregate_host_add(*, aggregate_id: UUID, host: str) -> Aggregate:
    """Put a registered host into the aggregate. Raises NotFound, Conflict (is in it), ZoneConflict, HostInUse."""
    with transaction.atomic():
        aggregate = _locked(aggregate_id)
        with zones_unchanged([host]):
            zone_of_hosts_check(aggregate, [host])
            _rest, made = AggregateHost.objects.get_or_create(aggregate=aggregate, host=host)
        if not made:
            raise Conflict(
                _("Host {host} is in aggregate {aggregate} already.", host=host, aggregate=aggregate.name), field="host"
            )
        _touch(aggregate)
        host_aggregates_mirror(host=host)
    return aggregate


@audited("aggregate.host_remove", Aggregate, by="aggregate_id", also=("host",))
def aggregate_host_remove(*, aggregate_id: UUID, host: str) -> Aggregate:
    """Take a host out of the aggregate. Raises NotFound when it is not in it, HostInUse."""
    with transaction.atomic():
        aggregate = _locked(aggregate_id)
        with zones_unchanged(
            AggregateHost.objects.filter(aggregate=aggregate, host=host).values_list("host", flat=True)
        ):
            removed, _rest = AggregateHost.objects.filter(aggregate=aggregate, host=host).delete()
        if not removed:
            raise NotFound(
                _("Host {host} is not in aggregate {aggregate}.", host=host, aggregate=aggregate.name), field="host"
            )
        _touch(aggregate)
        host_aggregates_mirror(host=host)
    return aggregate


@audited("aggregate.save", Aggregate, by="aggregate_id", also=("hosts_added", "hosts_removed"))
def aggregate_save(
    *,
    aggregate_id: UUID,
    name: str,
    metadata: Mapping[str, str],
    hosts_added: Sequence[str] = (),
    hosts_removed: Sequence[str] = (),
    unchanged_since: datetime | None = None,
) -> Aggregate:
    """Name, the whole metadata, hosts in and out: all of it, or nothing. What is so already stays so.

    Raises NotFound, InvalidFields, ZoneConflict, HostInUse, and Conflict when it was changed after `unchanged_since`.
    """
    with transaction.atomic():
        aggregate = _locked(aggregate_id)
        if unchanged_since is not None and aggregate.updated_at != unchanged_since:
            raise Conflict(_("Somebody changed {aggregate} meanwhile: look at it anew.", aggregate=aggregate.name))
        aggregate_draft_check(
            name=name,
            metadata=metadata,
            hosts_added=hosts_added,
            hosts_removed=hosts_removed,
            aggregate_id=aggregate_id,
        )
        members = set(aggregate.members.values_list("host", flat=True))
        added, removed = sorted(set(hosts_added) - members), sorted(set(hosts_removed) & members)
        aggregate.name, aggregate.metadata = name, dict(metadata)
        with zones_unchanged(members | set(added)):
            zone_of_hosts_check(aggregate, (members - set(removed)) | set(added))
            aggregate.save(update_fields=["name", "metadata", "updated_at"])
            _members_change(aggregate, added, removed)
    return aggregate


@audited("aggregate.create", Aggregate, also=("hosts",))
def aggregate_create_whole(*, name: str, metadata: Mapping[str, str], hosts: Sequence[str] = ()) -> Aggregate:
    """A new aggregate with its hosts: all of it, or nothing.

    Raises InvalidFields, NotFound, ZoneConflict, HostInUse.
    """
    with transaction.atomic():
        aggregate_draft_check(name=name, metadata=metadata, hosts_added=hosts)
        with zones_unchanged(hosts):
            aggregate = Aggregate.objects.create(name=name, metadata=dict(metadata))
            zone_of_hosts_check(aggregate, hosts)
            _members_change(aggregate, sorted(set(hosts)), [])
    return aggregate


def aggregate_draft_check(
    *,
    name: str,
    metadata: Mapping[str, str],
    hosts_added: Collection[str] = (),
    hosts_removed: Collection[str] = (),
    aggregate_id: UUID | None = None,
) -> None:
    """Whether an aggregate may be called so and have this metadata, and whether these hosts can be put in and taken out
    at once. Raises InvalidFields with everything that is wrong, by field.
    """
    problems: dict[str, list[str]] = {}
    others = Aggregate.objects.exclude(pk=aggregate_id) if aggregate_id else Aggregate.objects.all()
    checks: list[Callable[[], object]] = [
        lambda: _check_name(name, others),
        lambda: _checked_metadata(metadata),
        lambda: _check_hosts(hosts_added, len(hosts_added) + len(hosts_removed)),
    ]
    for check in checks:
        try:
            check()
        except (Invalid, Conflict) as error:
            problems.setdefault(error.field or "", []).append(error.message)
    if problems:
        raise InvalidFields(problems)


def _check_hosts(added: Collection[str], count: int) -> None:
    if count > MAX_HOSTS_AT_ONCE:
        text = _(
            "{count} hosts are more than the {max_hosts_at_once} that can be put in or taken out at once.",
            count=count,
            max_hosts_at_once=MAX_HOSTS_AT_ONCE,
        )
        raise Invalid(text, field="hosts")
    known = set(HostMapping.objects.filter(host__in=list(added)).values_list("host", flat=True))
    if missing := sorted(set(added) - known):
        raise Invalid(_("There is no host {missing:.80}.", missing=missing[0]), field="hosts")


def _members_change(aggregate: Aggregate, added: Sequence[str], removed: Sequence[str]) -> None:
    if not added and not removed:
        return
    AggregateHost.objects.filter(aggregate=aggregate, host__in=removed).delete()
    AggregateHost.objects.bulk_create(AggregateHost(aggregate=aggregate, host=host) for host in added)
    _touch(aggregate)
    for host in (*added, *removed):
        host_aggregates_mirror(host=host)


def _locked(aggregate_id: UUID) -> Aggregate:
    aggregate = Aggregate.objects.select_for_update().filter(id=aggregate_id).first()
    if aggregate is None:
        raise NotFound(_("There is no aggregate {aggregate_id}.", aggregate_id=aggregate_id))
    return aggregate


def _touch(aggregate: Aggregate) -> None:
    Aggregate.objects.filter(id=aggregate.id).update(updated_at=Now())
    changed(HOSTS)


def _check_name(name: str, others: QuerySet[Aggregate]) -> None:
    if not name.strip() or len(name) > NAME_MAX:
        raise Invalid(_("An aggregate needs a name of 1 to {name_max} characters.", name_max=NAME_MAX), field="name")
    if others.filter(name=name).exists():
        raise Conflict(_("An aggregate named {name} exists already.", name=name), field="name")


def _merged(old: Mapping[str, str], changes: Mapping[str, str | None]) -> dict[str, Any]:
    return {key: value for key, value in {**old, **changes}.items() if value is not None}


def _checked_metadata(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Text to text, each at most 255 characters; a zone's name is one."""
    for key, value in metadata.items():
        if not isinstance(value, str) or not 0 < len(str(key)) <= 255 or len(value) > 255:
            raise Invalid(
                _("Metadata maps text to text, keys of 1 to 255 and values of up to 255 characters."), field="metadata"
            )
    zone = metadata.get(ZONE_KEY)
    if zone is not None and (problem := zone_name_problem(zone)):
        raise Invalid(problem, field="metadata")
    return dict(metadata)
