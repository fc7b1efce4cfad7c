"""The one place that says whether a service is up."""

from datetime import timedelta

from django.db.models import BooleanField, Case, DateTimeField, ExpressionWrapper, Q, QuerySet, Value, When
from django.db.models.functions import Now

from scheduling.conf import scheduling_options
from scheduling.models import ComputeNode, Service


def up_condition(prefix: str = "") -> Q:
    """Not forced down, and heard of within SERVICE_DOWN_TIME_S by the database's clock.

    `prefix` is the path to the service, such as `service__`.
    """
    patience = timedelta(seconds=scheduling_options().service_down_time_s)
    since = ExpressionWrapper(Now() - patience, output_field=DateTimeField())
    return Q(**{f"{prefix}forced_down": False, f"{prefix}last_seen_up__gte": since})


def _is_up(prefix: str = "") -> Case:
    """A Case, because the bare condition is NULL for a service that was never seen."""
    return Case(When(up_condition(prefix), then=Value(True)), default=Value(False), output_field=BooleanField())


def with_is_up(services: QuerySet[Service]) -> QuerySet[Service]:
    """The same rows, each with a boolean `is_up`."""
    return services.annotate(is_up=_is_up())


def nodes_with_is_up(nodes: QuerySet[ComputeNode]) -> QuerySet[ComputeNode]:
    """Compute nodes with their service, each with a boolean `is_up`."""
    return nodes.select_related("service").annotate(is_up=_is_up("service__"))


def host_is_up(*, host: str) -> bool:
    """Whether the compute service of `host` is up now. A host that is not known is down."""
    return Service.objects.filter(up_condition(), host=host).exists()
