"""Bodies with a closed set of fields."""

from typing import Any

from rest_framework import serializers

from controlplane.kernel.texts import gettext_noop


class ClosedFields(serializers.Serializer[Any]):
    """An unknown field is an error: a typo must not silently do something else. Also for serializers of models.

    Fields that are only shown may be sent back, as clients do that change one field of what they read.
    """

    def to_internal_value(self, data: Any) -> Any:
        """The fields' values; refuses names that are not fields."""
        if isinstance(data, dict) and (unknown := sorted(str(name) for name in data if name not in self.fields)):
            raise serializers.ValidationError({name[:80]: ["There is no such field."] for name in unknown})
        return super().to_internal_value(data)


class StrictInput(ClosedFields):
    """A body whose rules of values are the services'."""


class TextOnlyField(serializers.CharField):
    """Text that is kept as it was sent. Other fields of text take a number for the text of its digits."""

    default_error_messages = {"no_text": gettext_noop("Must be text, not {kind}.")}

    def to_internal_value(self, data: Any) -> str:
        """The text; refuses all else."""
        if not isinstance(data, str):
            self.fail("no_text", kind=type(data).__name__)
        return super().to_internal_value(data)
