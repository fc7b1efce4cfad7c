"""Bodies with a closed set of fields."""

from collections.abc import Iterable
from typing import Any

from rest_framework import serializers

from controlplane.kernel.texts import phrase as _

_OF_TEXT = (serializers.CharField, serializers.UUIDField)


class ClosedFields(serializers.Serializer[Any]):
    """An unknown field is an error: a typo must not silently do something else. Also for serializers of models. And so
    is a number in place of text, which the fields of the framework take for its digits.

    Fields that are only shown may be sent back, as clients do that change one field of what they read.
    """

    def to_internal_value(self, data: Any) -> Any:
        """The fields' values; refuses names that are not fields."""
        if isinstance(data, dict) and (unknown := sorted(str(name) for name in data if name not in self.fields)):
            raise serializers.ValidationError({name[:80]: ["There is no such field."] for name in unknown})
        no_text = self._no_text(data) if isinstance(data, dict) else {}
        if not no_text:
            return super().to_internal_value(data)
        problems: dict[str, Any] = {}
        try:
            super().to_internal_value({name: value for name, value in data.items() if name not in no_text})
        except serializers.ValidationError as error:
            problems = dict(error.detail) if isinstance(error.detail, dict) else {}
        raise serializers.ValidationError({**problems, **no_text})

    def _no_text(self, data: dict[str, Any]) -> dict[str, Any]:
        given = {name: field for name, field in self.fields.items() if not field.read_only and name in data}
        found = {name: _not_text(field, data[name]) for name, field in given.items()}
        return {name: wrong for name, wrong in found.items() if wrong is not None}


class StrictInput(ClosedFields):
    """A body whose rules of values are the services'."""


def _not_text(field: Any, value: Any) -> Any:
    """What is wrong with a value that is no text where text is asked for, by place; None for nothing, and for what
    fields refuse by themselves.
    """
    if isinstance(field, _OF_TEXT) or (type(field) is serializers.ChoiceField and _is_of_words(field)):
        is_fine = value is None or isinstance(value, str)
        return None if is_fine else [_("Must be text, not {kind}.", kind=type(value).__name__)]
    if isinstance(field, serializers.ListField) and isinstance(value, list):
        places: Iterable[tuple[Any, Any]] = enumerate(value)
    elif isinstance(field, serializers.DictField) and isinstance(value, dict):
        places = value.items()
    else:
        return None
    return {key: wrong for key, one in places if (wrong := _not_text(field.child, one)) is not None} or None


def _is_of_words(field: serializers.ChoiceField) -> bool:
    return all(isinstance(one, str) for one in field.choices)
