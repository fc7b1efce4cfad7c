"""A service's refusal at the fields of the form that it is about."""

from collections.abc import Mapping

from django import forms

from controlplane.infra.reader_texts import refusal_reasons
from controlplane.kernel.errors import KilonovaError


def errors_add(form: forms.Form, error: KilonovaError, names: Mapping[str, str]) -> None:
    """Put each reason at its field, once. `names` maps the service's names of fields to the form's, where they differ.

    What is about no field of the form is shown above it.
    """
    for field, texts in reasons_by_field(error).items():
        root = field.split(".")[0]
        name = names.get(root, root)
        known = name if name in form.fields else None
        for text in texts:
            if text not in form.errors.get(known or "__all__", []):
                form.add_error(known, text)


def reasons_by_field(error: KilonovaError) -> dict[str, list[str]]:
    """Every reason of a refusal, in the reader's language; the field is empty where none is named."""
    return refusal_reasons(error)
