"""The reasons of the services, shown at the fields of the admin's forms."""

from typing import Any

from django.forms import ModelForm

from controlplane.kernel.errors import InvalidFields, KilonovaError
from servers.fields import Problems


def problems_on_form(form: "ModelForm[Any]", problems: Problems) -> None:
    """Show reasons at the fields they are about; those of fields that the form does not have, on top.

    Reasons against a key inside a field (`extra_specs.hw:cpu_policy`) name the key, and are shown at the field.
    """
    for name, reasons in problems.items():
        field = name.partition(".")[0]
        for reason in reasons:
            form.add_error(field if field in form.fields else None, reason)


def problems_of(error: KilonovaError) -> Problems:
    """The reasons of a refusal, by field."""
    return error.errors if isinstance(error, InvalidFields) else {error.field or "__all__": [error.message]}
