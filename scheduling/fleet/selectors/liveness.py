"""Whether services are up now, by the database's clock."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from django.db.models import BooleanField, Case, CharField, QuerySet, Value, When
from django.db.models.functions import Now

from controlplane.infra.prepared import PreparedQuery
from scheduling.models import ComputeNode, Service
from scheduling.models.clock import fresh_metrics_condition
from scheduling.models.liveness import up_condition, was_up

ServiceRow = Service
"""What `services_with_is_up` has, for the signatures of doors."""


def _is_up(prefix: str = "") -> Case:
    """A Case, because the bare condition is NULL for a service that was never seen."""
    return Case(When(up_condition(prefix), then=Value(True)), default=Value(False), output_field=BooleanField())


def with_is_up(services: QuerySet[Service]) -> QuerySet[Service]:
    """The same rows, each with a boolean `is_up`."""
    return services.annotate(is_up=_is_up())


def services_with_is_up() -> QuerySet[Service]:
    """All services by host, each with `is_up`. One query."""
    return with_is_up(Service.objects.order_by("host", "binary"))


def nodes_with_is_up(nodes: QuerySet[ComputeNode]) -> QuerySet[ComputeNode]:
    """Compute nodes with their service, each with booleans `is_up` and `has_fresh_metrics`."""
    fresh = Case(When(fresh_metrics_condition(), then=Value(True)), default=Value(False), output_field=BooleanField())
    return nodes.select_related("service").annotate(is_up=_is_up("service__"), has_fresh_metrics=fresh)


def host_is_up(*, host: str) -> bool:
    """Whether the compute service of `host` is up now. A host that is not known is down."""
    return Service.objects.filter(up_condition(), host=host).exists()


def host_is_forced_down(*, host: str) -> bool:
    """Whether an operator or a fencing device declared the host dead."""
    return Service.objects.filter(host=host, forced_down=True).exists()


def hosts_up(hosts: Collection[str] | None = None) -> set[str]:
    """The hosts, of these or of all, whose compute service is up now. One query."""
    rows = Service.objects.filter(up_condition())
    return set((rows if hosts is None else rows.filter(host__in=hosts)).values_list("host", flat=True))


@dataclass(frozen=True, slots=True)
class SilentHost:
    """A host that is not up: since when its agent is silent (None: it never reported), or somebody said it is dead."""

    host: str
    since: datetime | None
    is_forced_down: bool


def hosts_silent(hosts: Collection[str] | None = None) -> dict[str, SilentHost]:
    """Those, of these hosts or of all, whose compute service is not up now, by name. One query."""
    rows = Service.objects.exclude(up_condition()).order_by()
    rows = rows if hosts is None else rows.filter(host__in=hosts)
    columns = rows.values_list("host", "last_seen_up", "forced_down")
    return {host: SilentHost(host, since, forced) for host, since, forced in columns}


class HostStatus(StrEnum):
    """How the host of an instance is, in Nova's words and by its rule: what is said first, wins."""

    DOWN = "DOWN"
    """Its service is forced down."""
    MAINTENANCE = "MAINTENANCE"
    """Its service is disabled: it takes nothing new."""
    UP = "UP"
    UNKNOWN = "UNKNOWN"
    """Its service does not report, or there is none."""


@dataclass(frozen=True, slots=True)
class HostLiveness:
    """How a host is; and, where nothing comes of it now, since when (a disabled host may be silent, too)."""

    status: HostStatus
    silence: SilentHost | None


# By column of the service: the first that is true wins; else it is whether the service is up.
_SAID = {"forced_down": HostStatus.DOWN, "disabled": HostStatus.MAINTENANCE}


def _status() -> Case:
    return Case(
        *(When(**{column: True}, then=Value(status.value)) for column, status in _SAID.items()),
        When(up_condition(), then=Value(HostStatus.UP.value)),
        default=Value(HostStatus.UNKNOWN.value),
        output_field=CharField(),
    )


def _reading(services: QuerySet[Service]) -> QuerySet[Service]:
    """With the database's time: to ask it whether they are up would be half of the query's CPU."""
    return services.order_by().annotate(asked_at=Now())


_OF_HOST = PreparedQuery("service_of_host", lambda host: _reading(Service.objects.filter(host=host)), types=["text"])


def hosts_liveness(hosts: Collection[str]) -> dict[str, HostLiveness]:
    """How each of these hosts is; one that is not registered is missing. One query, none for no hosts."""
    if not hosts:
        return {}
    rows: Iterable[Any] = (
        _OF_HOST.run([*hosts]) if len(hosts) == 1 else _reading(Service.objects.filter(host__in=hosts))
    )
    return {row.host: _liveness(row, row.asked_at) for row in rows}


def _liveness(service: Service, at: datetime) -> HostLiveness:
    is_up = was_up(at=at, last_seen_up=service.last_seen_up, forced_down=service.forced_down)
    said = (status for column, status in _SAID.items() if getattr(service, column))
    status = next(said, HostStatus.UP if is_up else HostStatus.UNKNOWN)
    silence = None if is_up else SilentHost(service.host, service.last_seen_up, service.forced_down)
    return HostLiveness(status, silence)


def host_statuses(hosts: Collection[str]) -> dict[str, str]:
    """The status of each of these hosts. One query."""
    return {host: one.status.value for host, one in hosts_liveness(hosts).items()}


def hosts_of_status(status: HostStatus) -> QuerySet[Service, str]:
    """The registered hosts of this status, to be asked within another query."""
    return Service.objects.order_by().alias(status=_status()).filter(status=status.value).values_list("host", flat=True)
