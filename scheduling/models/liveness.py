"""The one place that says whether a service is up. Below selectors, because filters of lists ask it too."""

from datetime import datetime, timedelta

from django.db.models import DateTimeField, ExpressionWrapper, Q
from django.db.models.functions import Now

from scheduling.conf import scheduling_options


def up_condition(prefix: str = "") -> Q:
    """Not forced down, and heard of within SERVICE_DOWN_TIME_S by the database's clock.

    `prefix` is the path to the service, such as `service__`.
    """
    since = ExpressionWrapper(Now() - _grace(), output_field=DateTimeField())
    return Q(**{f"{prefix}forced_down": False, f"{prefix}last_seen_up__gte": since})


def was_up(*, at: datetime, last_seen_up: datetime | None, forced_down: bool) -> bool:
    """The same of a row that the database read `at` this time of its clock."""
    return not forced_down and last_seen_up is not None and last_seen_up >= at - _grace()


def _grace() -> timedelta:
    return timedelta(seconds=scheduling_options().service_down_time_s)
