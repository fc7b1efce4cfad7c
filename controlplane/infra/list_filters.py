"""Filters of lists, for API and pages: what cannot be read is refused with its field, and never left out."""

from copy import deepcopy
from datetime import datetime
from typing import Any

import django_filters
from django import forms
from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext_lazy as _
from django_filters.fields import IsoDateTimeField
from django_filters.filterset import FILTER_FOR_DBFIELD_DEFAULTS

from controlplane.kernel.booleans import is_boolean, is_true
from controlplane.kernel.moments import in_utc

WHOLE = [kind for kind in FILTER_FOR_DBFIELD_DEFAULTS if issubclass(kind, models.IntegerField | models.AutoField)]
"""Columns of whole numbers."""


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


class YesNoField(forms.Field):
    """The truth values that settings and extra specs take as well; nothing at all does not narrow the list."""

    widget = forms.TextInput

    def to_python(self, value: Any) -> bool | None:
        """See Django."""
        if isinstance(value, bool) or value in (None, ""):
            return value if isinstance(value, bool) else None
        if not is_boolean(str(value)):
            raise ValidationError(_("Write yes or no, true or false, 1 or 0."), code="invalid")
        return is_true(value)


class YesNoFilter(django_filters.BooleanFilter):
    """django-filter's takes what it cannot read for no filter at all."""

    field_class = YesNoField  # type: ignore[assignment] # its stubs ask for that of Django, which ignores what it cannot read


class WholeNumberFilter(django_filters.NumberFilter):
    """django-filter's takes fractions, of which the database is asked for the whole part."""

    field_class = forms.IntegerField  # type: ignore[assignment]  # as of YesNoFilter


class ListFilterSet(django_filters.FilterSet):
    """The base of all: columns that are named alone get these filters, too."""

    FILTER_DEFAULTS = deepcopy(FILTER_FOR_DBFIELD_DEFAULTS) | {
        models.BooleanField: {"filter_class": YesNoFilter},
        models.DateTimeField: {"filter_class": MomentFilter},
        # A default of Django's own classes counts for those that derive from them, PositiveIntegerField among them.
        **{kind: {"filter_class": WholeNumberFilter} for kind in WHOLE},
    }
