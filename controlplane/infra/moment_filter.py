"""Filters of lists by a moment."""

from datetime import datetime
from typing import Any

import django_filters
from django.core.exceptions import ValidationError
from django_filters.fields import IsoDateTimeField

from controlplane.kernel.moments import in_utc


class MomentField(IsoDateTimeField):
    """ISO 8601. What no database could be asked for is no moment."""

    def to_python(self, value: Any) -> datetime | None:
        """See Django."""
        try:
            moment: datetime | None = super().to_python(value)
            if moment is not None:
                in_utc(moment)
        except (OverflowError, ValueError) as error:
            raise ValidationError(self.error_messages["invalid"], code="invalid") from error
        return moment


class MomentFilter(django_filters.IsoDateTimeFilter):
    """django-filter's, for moments that there are in UTC."""

    field_class = MomentField
