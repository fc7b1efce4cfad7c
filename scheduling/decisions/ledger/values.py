"""Python values of the host table as JSON and back, exactly: tuples, sets, uuids and the domain's own dataclasses.

Only dataclasses and enumerations of the modules in TRUSTED are made again, so a stored text cannot name code to run.
"""

import importlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any
from uuid import UUID

TRUSTED = ("scheduling.domain.", "placement.domain.", "placement.candidates.", "controlplane.kernel.")
_MARK = "$"


class NotStorable(TypeError):
    """A value of a kind that the ledger cannot write down exactly."""


def plain(value: Any) -> Any:
    """JSON values; `restored` gives an equal value of the same types. Raises NotStorable."""
    if value is None or isinstance(value, bool | str) or type(value) in (int, float):
        return value
    if isinstance(value, Enum):
        return {_MARK: "enum", "type": _name(type(value)), "value": value.value}
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, Mapping):
        return _plain_mapping(value)
    if is_dataclass(value) and not isinstance(value, type):
        parts = {each.name: plain(getattr(value, each.name)) for each in fields(value)}
        return {_MARK: "data", "type": _name(type(value)), "parts": parts}
    return _plain_collection(value)


def restored(data: Any) -> Any:
    """The inverse of `plain`. Raises NotStorable for a type that is not to be trusted."""
    if isinstance(data, list):
        return [restored(each) for each in data]
    if not isinstance(data, dict):
        return data
    mark = data.get(_MARK)
    if mark is None:
        return {name: restored(each) for name, each in data.items()}
    return _restored_marked(mark, data)


def _plain_mapping(value: Mapping[Any, Any]) -> Any:
    if _MARK not in value and all(isinstance(name, str) for name in value):
        return {str(name): plain(each) for name, each in value.items()}
    return {_MARK: "map", "items": [[plain(name), plain(each)] for name, each in value.items()]}


def _plain_collection(value: Any) -> Any:
    if isinstance(value, tuple):
        return {_MARK: "tuple", "items": [plain(each) for each in value]}
    if isinstance(value, frozenset):
        return {_MARK: "set", "items": [plain(each) for each in sorted(value, key=repr)]}
    if isinstance(value, UUID):
        return {_MARK: "uuid", "value": value.hex}
    raise NotStorable(f"the ledger cannot keep a {type(value).__name__}")


def _restored_marked(mark: str, data: Mapping[str, Any]) -> Any:
    if mark == "tuple":
        return tuple(restored(each) for each in data["items"])
    if mark == "set":
        return frozenset(restored(each) for each in data["items"])
    if mark == "map":
        return {restored(name): restored(each) for name, each in data["items"]}
    if mark == "uuid":
        return UUID(hex=data["value"])
    if mark == "enum":
        return _type(data["type"], Enum)(data["value"])
    if mark == "data":
        return _type(data["type"], None)(**{name: restored(each) for name, each in data["parts"].items()})
    raise NotStorable(f"an unknown mark {mark!r}")


def _name(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def _type(name: str, base: type | None) -> Any:
    module, _, qualname = name.partition(":")
    if not module.startswith(TRUSTED):
        raise NotStorable(f"{name} is not a type of the ledger")
    found = getattr(importlib.import_module(module), qualname, None)
    if not isinstance(found, type) or not (is_dataclass(found) if base is None else issubclass(found, base)):
        raise NotStorable(f"{name} is not a type of the ledger")
    return found
