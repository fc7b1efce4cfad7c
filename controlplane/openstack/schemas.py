"""JSON schemas are compiled once, when their module is read: checking a schema anew for each request is what costs."""

from collections.abc import Iterable, Mapping
from typing import Any

from jsonschema import Draft7Validator, FormatChecker, ValidationError
from jsonschema.exceptions import best_match

from controlplane.kernel.ids import parse_uuid

_FORMATS = FormatChecker(formats=())
_LONGEST = 1000


@_FORMATS.checks("uuid")
def _is_uuid(value: object) -> bool:
    return not isinstance(value, str) or parse_uuid(value) is not None


class CompiledSchema:
    """A schema that is ready to judge values."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        Draft7Validator.check_schema(schema)
        self._validator = Draft7Validator(schema, format_checker=_FORMATS)

    def complaint(self, value: object) -> str | None:
        """What is wrong with `value`, for people; None when it is right."""
        try:
            error = best_match(self._validator.iter_errors(value))
            return None if error is None else _text(error)
        except RecursionError:
            return "it is nested too deeply."


def _text(error: ValidationError) -> str:
    """The library's own text shows schema and value in full, however large the value is, and takes its time."""
    place, rule = _indexed(error.absolute_path), _indexed(list(error.absolute_schema_path)[:-1])
    return f"{error.message[:_LONGEST]}\n\nFailed validating {error.validator!r} in schema{rule}, on instance{place}"


def _indexed(path: Iterable[str | int]) -> str:
    return "".join(f"[{part!r}]" for part in path)
