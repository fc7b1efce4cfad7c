"""Shortens what a message may hold less of than an honest host has to tell, where its type says so (CUT).

A compiler from types to functions: what has nothing in it that is ever shortened costs nothing. Whatever else is out of
its bounds is left, and refused by who reads it.
"""

import dataclasses
import types
import typing
from collections.abc import Callable, Collection, Mapping
from itertools import islice
from typing import Any

import msgspec

Fit = Callable[[Any], Any]
"""The same object where it fits."""


def fit_of(hint: Any) -> Fit | None:
    """What makes values of this type fit; None where nothing in it is shortened."""
    if typing.get_origin(hint) is typing.Annotated:
        return _annotated(hint)
    if dataclasses.is_dataclass(hint):
        return _of_dataclass(hint)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return _optional([each for each in arguments if each is not types.NoneType])
    if origin is dict:
        return _of_values(fit_of(arguments[1]))
    if origin is not None and len({each for each in arguments if each is not Ellipsis}) == 1:
        return _of_items(fit_of(arguments[0]))
    return None


def _annotated(hint: Any) -> Fit | None:
    base, *rest = typing.get_args(hint)
    fits = [fit for fit in (fit_of(base), *(_bound(each) for each in rest if isinstance(each, msgspec.Meta))) if fit]
    if not fits:
        return None

    def fit(value: Any) -> Any:
        for each in reversed(fits):  # first the length, then what is left
            value = each(value)
        return value

    return fit


def _bound(meta: msgspec.Meta) -> Fit | None:
    said = meta.extra or {}
    if not said.get("cut"):
        return None
    if meta.max_length is None:
        min_value, max_value = meta.ge, meta.le
        return lambda number: max(min_value, min(max_value, number))
    max_length, keeps_end = meta.max_length, bool(said.get("keeps_end"))
    return lambda value: value if len(value) <= max_length else _shortened(value, max_length, keeps_end=keeps_end)


def _shortened(value: Any, max_length: int, *, keeps_end: bool) -> Any:
    if isinstance(value, str):
        return value[-max_length:] if keeps_end else value[: max_length - 1] + "\u2026"
    if isinstance(value, Mapping):
        return dict(islice(value.items(), max_length))
    if isinstance(value, set | frozenset):  # of names: each time the same ones
        return sorted(value)[:max_length]
    return tuple(islice(value, max_length))


def _of_dataclass(hint: Any) -> Fit | None:
    hints = typing.get_type_hints(hint, include_extras=True)
    found = {field.name: fit_of(hints[field.name]) for field in dataclasses.fields(hint)}
    fits = {name: fit for name, fit in found.items() if fit is not None}
    if not fits:
        return None

    def fit(value: Any) -> Any:
        given = {name: getattr(value, name) for name in fits}
        fitted = {name: fits[name](each) for name, each in given.items()}
        changed = {name: each for name, each in fitted.items() if each is not given[name]}
        return dataclasses.replace(value, **changed) if changed else value

    return fit


def _optional(hints: list[Any]) -> Fit | None:
    fit = fit_of(hints[0]) if len(hints) == 1 else None
    return None if fit is None else lambda value: None if value is None else fit(value)


def _of_values(fit: Fit | None) -> Fit | None:
    if fit is None:
        return None

    def fitted(values: Mapping[Any, Any]) -> Any:
        made = {key: fit(value) for key, value in values.items()}
        return made if any(made[key] is not value for key, value in values.items()) else values

    return fitted


def _of_items(fit: Fit | None) -> Fit | None:
    if fit is None:
        return None

    def fitted(items: Collection[Any]) -> Any:
        made = tuple(fit(item) for item in items)
        return made if any(one is not other for one, other in zip(made, items, strict=True)) else items

    return fitted
