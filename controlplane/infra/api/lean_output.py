"""Serializers of answers whose fields are made once, not once a request."""

from collections.abc import Iterable
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar

from rest_framework import serializers

T = TypeVar("T")


class LeanOutput(serializers.Serializer[T]):
    """For answers alone, of objects, with fields that read nothing of the request: its own methods may (`get_...`).

    A serializer copies its declared fields for each use, so that a request may change them; to show one instance that
    took longer than to read it, a third of the CPU of GET /api/instances/{id}/ by a profile (`python -m
    bench.fast_ways --only "fields once"` measures it). That it shows what a plain serializer shows is held by
    `tests/api/servers/test_lean_answers.py`.
    """

    @classmethod
    def shown(cls, instances: Iterable[T], **context: Any) -> list[dict[str, Any]]:
        """Each of these, with this context."""
        one = None
        found = []
        for instance in instances:
            one = one or cls(context=context)
            found.append(one.to_representation(instance))
        return found

    def to_representation(self, instance: T) -> dict[str, Any]:
        """The fields in their order."""
        shown: dict[str, Any] = {}
        for name, method, attribute, represent in _fields_of(type(self)):
            if method:
                shown[name] = getattr(self, method)(instance)
            else:
                value = attribute(instance)
                shown[name] = None if value is None else represent(value)
        return shown


@cache
def _fields_of(serializer: type[LeanOutput[Any]]) -> list[tuple[str, str, Any, Any]]:
    """By name: the method of the serializer that makes the value; or else what reads it, and what shows it."""
    return [
        (name, field.method_name, None, None)
        if isinstance(field, serializers.SerializerMethodField)
        else (name, "", attrgetter(str(field.source)), field.to_representation)
        for name, field in serializer().fields.items()
        if not field.write_only
    ]
