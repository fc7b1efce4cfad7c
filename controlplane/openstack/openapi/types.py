"""The JSON schema of a type: of what the return annotation of a view says that its answers hold."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import NoneType, UnionType
from typing import (
    Any,
    Literal,
    NoReturn,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)
from uuid import UUID

from django.http.response import HttpResponseBase, StreamingHttpResponse

from controlplane.openstack.answers import Chosen, Empty, JsonAnswer, JsonText, WithOthers
from controlplane.openstack.described import Schema

_PLAIN: Mapping[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    NoneType: {"type": "null"},
    UUID: {"type": "string", "format": "uuid"},
    datetime: {"type": "string", "format": "date-time"},
    object: {},
}


def members(annotation: Any) -> tuple[Any, ...]:
    """The types of a union; the type itself where it is none."""
    return get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)


def is_response(annotation: Any) -> bool:
    """Whether a function that is so annotated returns a response."""
    kinds = [get_origin(one) or one for one in members(annotation)]
    return all(isinstance(kind, type) and issubclass(kind, HttpResponseBase) for kind in kinds)


def body_types(view: Callable[..., HttpResponseBase]) -> tuple[Any, ...]:
    """What the JSON of its answers is, as far as its annotation says it."""
    return tuple(one for kind in _returned(view) if get_origin(kind) is JsonAnswer for one in members(*get_args(kind)))


def sends_bytes(view: Callable[..., HttpResponseBase]) -> bool:
    """Whether it answers with bytes that are no JSON."""
    return any(map(_is_stream, _returned(view)))


def may_be_empty(view: Callable[..., HttpResponseBase]) -> bool:
    """Whether some of its answers have no body."""
    return Empty in _returned(view)


def undescribed(view: Callable[..., HttpResponseBase]) -> tuple[Any, ...]:
    """The kinds of answers of which the annotation does not say what they hold."""
    known = (JsonAnswer, Empty, NoReturn)
    return tuple(one for one in _returned(view) if (get_origin(one) or one) not in known and not _is_stream(one))


def _is_stream(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, StreamingHttpResponse)


def _returned(view: Callable[..., HttpResponseBase]) -> tuple[Any, ...]:
    return members(inspect.get_annotations(inspect.unwrap(view)).get("return"))


@dataclass(slots=True)
class TypeSchemas:
    """Makes schemas of types. Those of TypedDicts are in `named`, where others refer to them."""

    named: dict[str, dict[str, Any]] = field(default_factory=dict)
    _types: dict[str, Any] = field(default_factory=dict)

    def of(self, *types: Any) -> dict[str, Any]:
        """Of what is of one of these types. Raises TypeError for a type that has no JSON."""
        found = list(self._each(types))
        if len(found) == 1:
            return found[0]
        if all(one.keys() == {"type"} for one in found):
            return {"type": [one["type"] for one in found]}
        return {"anyOf": found}

    def _each(self, types: tuple[Any, ...]) -> Iterator[dict[str, Any]]:
        for one in types:
            for member in members(one):
                yield self._one(member)

    def _one(self, kind: Any) -> dict[str, Any]:
        if is_typeddict(kind):
            return self._reference(kind, kind.__name__, lambda: self._object(kind))
        match get_origin(kind), get_args(kind):
            case (origin, (inner,)) if origin in (JsonText, Required, NotRequired):
                found = self.of(inner)
            case (origin, values) if origin is Literal:
                found = {"enum": list(values)}
            case (origin, (item,)) if origin is list:
                found = {"type": "array", "items": self.of(item)}
            case (origin, (_, value)) if origin is dict:
                found = {"type": "object", "additionalProperties": self.of(value)}
            case (origin, (fields, others)) if origin is WithOthers:
                found = self._reference(kind, fields.__name__, lambda: self._object(fields, self.of(others)))
            case (origin, (fields,)) if origin is Chosen:
                found = self._reference(kind, f"Some{fields.__name__}", lambda: self._some(fields))
            case _ if kind in _PLAIN:
                found = dict(_PLAIN[kind])
            case _:
                raise TypeError(f"{kind} has no JSON schema.")
        return found

    def _reference(self, kind: Any, name: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if self._types.setdefault(name, kind) != kind:
            raise TypeError(f"Two types of one document are named {name}.")
        if name not in self.named:
            self.named[name] = {}
            self.named[name] = make()
        return {"$ref": f"#/components/schemas/{name}"}

    def _object(self, kind: Any, others: Schema | Literal[False] = False) -> dict[str, Any]:
        hints = get_type_hints(kind)
        described = {"description": kind.__doc__.partition("\n")[0]} if kind.__doc__ else {}
        return {
            "type": "object",
            **described,
            "properties": {name: self.of(hint) for name, hint in hints.items()},
            "required": [name for name in hints if name in kind.__required_keys__],
            "additionalProperties": others,
        }

    def _some(self, kind: Any) -> dict[str, Any]:
        return {key: value for key, value in self._object(kind).items() if key != "required"}
