"""What a model is called in English, whoever looks: for what is stored, and for what programs are answered."""

from typing import Any

from django.utils import translation


def model_name(model: Any) -> str:
    """One of its rows."""
    return str(model._meta.verbose_name_raw)


def model_names(model: Any) -> str:
    """Many of them."""
    with translation.override(None):
        return str(model._meta.verbose_name_plural)
