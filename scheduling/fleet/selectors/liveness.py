"""Whether services are up now, by the database's clock."""

from django.db.models import BooleanField, Case, QuerySet, Value, When

from scheduling.models import ComputeNode, Service
from scheduling.models.clock import fresh_metrics_condition
from scheduling.models.liveness import up_condition


def _is_up(prefix: str = "") -> Case:
    """A Case, because the bare condition is NULL for a service that was never seen."""
    return Case(When(up_condition(prefix), then=Value(True)), default=Value(False), output_field=BooleanField())


def with_is_up(services: QuerySet[Service]) -> QuerySet[Service]:
    """The same rows, each with a boolean `is_up`."""
    return services.annotate(is_up=_is_up())


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


def hosts_up() -> set[str]:
    """The hosts whose compute service is up now. One query."""
    return set(Service.objects.filter(up_condition()).values_list("host", flat=True))
