"""JSON schemas are compiled once, when their module is read: checking a schema anew for each request is what costs."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from jsonschema import Draft7Validator, FormatChecker, ValidationError
from jsonschema.exceptions import best_match
from jsonschema.validators import extend

from controlplane.kernel.ids import parse_uuid

_FORMATS = FormatChecker(formats=())
_LONGEST = 1000


@_FORMATS.checks("uuid")
def _is_uuid(value: object) -> bool:
    return not isinstance(value, str) or parse_uuid(value) is not None


def _is_integer(_checker: object, value: object) -> bool:
    """As JSON writes one, and no longer than a column is: 1.0 is none, and what is longer comes as a float."""
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _LARGEST


_LARGEST = 2**63 - 1
_TYPES = Draft7Validator.TYPE_CHECKER.redefine("integer", _is_integer)
_Validator: Any = extend(Draft7Validator, type_checker=_TYPES)  # type: ignore[no-untyped-call]  # theirs


class CompiledSchema:
    """A schema that is ready to judge values. That it is one itself is a matter for tests: to look takes longer."""

    validator_class: ClassVar[Any] = _Validator

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.schema = schema
        self._validator = self.validator_class(schema, format_checker=_FORMATS)

    def complaint(self, value: object) -> str | None:
        """What is wrong with `value`, for people; None when it is right."""
        try:
            error = best_match(self._validator.iter_errors(value))
            return None if error is None else _text(error)
        except RecursionError:
            return "it is nested too deeply."

    def body_schema(self, minor: int) -> Mapping[str, Any] | None:
        """As documents have it, in each version."""
        return self.schema


class StandardSchema(CompiledSchema):
    """With integers as newer drafts of JSON Schema have them: of any size, and 1.0 is one. The original Placement
    judges so, where Nova, Cinder and Keystone keep to an older draft.
    """

    validator_class = Draft7Validator


class SchemaVersions:
    """Schemas of one thing, each with the first minor version that has it, the newest first."""

    def __init__(self, *versions: tuple[int, CompiledSchema]) -> None:
        self.versions = versions

    def at(self, minor: int) -> CompiledSchema:
        """The one that is in force at this minor version."""
        return next(schema for since, schema in self.versions if minor >= since)

    def body_schema(self, minor: int) -> Mapping[str, Any] | None:
        """As documents have it; None where no schema is as old as this version."""
        return self.at(minor).schema if minor >= self.versions[-1][0] else None


def _text(error: ValidationError) -> str:
    """The library's own text shows schema and value in full, however large the value is, and takes its time."""
    place, rule = _indexed(error.absolute_path), _indexed(list(error.absolute_schema_path)[:-1])
    return f"{error.message[:_LONGEST]}\n\nFailed validating {error.validator!r} in schema{rule}, on instance{place}"


def _indexed(path: Iterable[str | int]) -> str:
    return "".join(f"[{part!r}]" for part in path)
