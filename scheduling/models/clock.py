"""Conditions on what hosts measured: whose clock is off, whose metrics are fresh. Below selectors: filters ask too."""

from datetime import timedelta

from django.db.models import DateTimeField, ExpressionWrapper, F, FloatField, Q, Value
from django.db.models.functions import Abs, Now

from scheduling.conf import scheduling_options


def clock_off_condition() -> Q:
    """As `clock_is_off`: by more than CLOCK_SKEW_WARNING_S, whatever the error of the measurement was."""
    limit_s = Value(scheduling_options().clock_skew_warning_s, output_field=FloatField())
    return Q(clock_skew_s__isnull=False, clock_error_s__lt=Abs(F("clock_skew_s")) - limit_s)


def fresh_metrics_condition() -> Q:
    """Measured within METRICS_MAX_AGE_S, by the database's clock."""
    grace = timedelta(seconds=scheduling_options().metrics_max_age_s)
    return Q(metrics_at__gte=ExpressionWrapper(Now() - grace, output_field=DateTimeField()))
