"""Python values of the host table as JSON and back, exactly: tuples, sets, uuids and the domain's own dataclasses.

A dataclass is written under a name from TYPES, not under that of its module: it may move, and a stored text cannot
name code to run.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any
from uuid import UUID

from controlplane.kernel.texts import phrase as _
from scheduling.decisions.ledger.content import OtherVersion
from scheduling.domain.hosts.host_rows import AggregateRow

TYPES: Mapping[str, type[Any]] = {"aggregate": AggregateRow}
"""Dataclasses that columns of the host table hold. A name that was ever released means the same for ever."""

_NAMES = {kind: name for name, kind in TYPES.items()}
_MARK = "$"


class NotStorable(TypeError):
    """A value of a kind that the ledger cannot write down exactly."""


def plain(value: Any) -> Any:
    """JSON values; `restored` gives an equal value of the same types. Raises NotStorable."""
    if value is None or isinstance(value, bool | str) or type(value) in (int, float):
        return value
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, Mapping) and _MARK not in value and all(isinstance(name, str) for name in value):
        return {str(name): plain(each) for name, each in value.items()}
    return _marked(value)


def _marked(value: Any) -> dict[str, Any]:
    """What JSON has no form for, with its kind."""
    match value:
        case Mapping():
            return {_MARK: "map", "items": [[plain(name), plain(each)] for name, each in value.items()]}
        case tuple():
            return {_MARK: "tuple", "items": [plain(each) for each in value]}
        case frozenset():
            return {_MARK: "set", "items": [plain(each) for each in sorted(value, key=repr)]}
        case UUID():
            return {_MARK: "uuid", "value": value.hex}
    if type(value) not in _NAMES:
        raise NotStorable(f"the ledger cannot keep a {type(value).__name__}")
    return {_MARK: _NAMES[type(value)], **{each.name: plain(getattr(value, each.name)) for each in fields(value)}}


def restored(data: Any) -> Any:
    """The inverse of `plain`. Raises OtherVersion for a type that this version does not know, or not so."""
    if isinstance(data, list):
        return [restored(each) for each in data]
    if not isinstance(data, dict):
        return data
    if _MARK in data:
        return _restored_marked(data[_MARK], data)
    return {name: restored(each) for name, each in data.items()}


def _restored_marked(mark: str, data: Mapping[str, Any]) -> Any:
    match mark:
        case "tuple":
            return tuple(restored(each) for each in data["items"])
        case "set":
            return frozenset(restored(each) for each in data["items"])
        case "map":
            return {restored(name): restored(each) for name, each in data["items"]}
        case "uuid":
            return UUID(hex=data["value"])
    try:
        return TYPES[mark](**{name: restored(each) for name, each in data.items() if name != _MARK})
    except (KeyError, TypeError) as error:
        raise OtherVersion(_("There is no {mark!r} among the values that this version can read.", mark=mark)) from error
