"""What bodies and query strings may say, as objects that judge requests and that describe themselves in documents."""

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

Schema = Mapping[str, Any]


@runtime_checkable
class BodyDescribed(Protocol):
    """Knows the JSON schema of a body at a minor version; None where that version has none."""

    def body_schema(self, minor: int) -> Schema | None: ...


@runtime_checkable
class QueryDescribed(Protocol):
    """Knows the parameters of a query string at a minor version, as properties of a JSON schema."""

    def query_schema(self, minor: int) -> Schema: ...


class QueryNames(frozenset[str]):
    """Names of parameters, whose values are judged one by one."""

    def query_schema(self, minor: int) -> Schema:
        """All of them, in each version."""
        return names_schema(self)


def names_schema(names: frozenset[str]) -> Schema:
    """Of parameters that are texts."""
    return {"properties": {name: {"type": "string"} for name in sorted(names)}}


def one_key_schema(values: Mapping[str, Schema]) -> Schema:
    """Of a body whose one key says what is asked for, by the schema of what stands under that key. Where there are no
    such keys, no body is right.
    """
    if not values:
        return {"not": {}}
    return {
        "oneOf": [
            {"type": "object", "properties": {name: value}, "required": [name], "additionalProperties": False}
            for name, value in values.items()
        ]
    }
