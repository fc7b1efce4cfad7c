"""Every type that the agents' verbs carry can be written as JSON by its fields alone, whatever transport comes."""

import dataclasses
import types
import typing
from collections.abc import Collection, Iterator, Sequence
from enum import StrEnum

from computeagent.protocol.conductor import Conductor
from computeagent.protocol.hosts import HostMeasures, HostReport

SIMPLE = {str, int, float, bool, bytes, type(None)}
CONTAINERS = {list, tuple, dict, frozenset, Collection, Sequence, Iterator, types.UnionType, typing.Union}
JSON_OBJECTS = {(HostReport, "cpu_info"), (HostReport, "stats"), (HostReport, "metrics"), (HostMeasures, "metrics")}
"""Fields of JSON objects that a driver fills as it likes."""


def verbs() -> Iterator[tuple[str, dict[str, object]]]:
    for name, verb in vars(Conductor).items():
        if not name.startswith("_"):
            yield name, typing.get_type_hints(verb)


def parts(hint: object) -> Iterator[object]:
    """What a hint is made of: classes alone."""
    origin = typing.get_origin(hint)
    if origin is None:
        yield hint
        return
    assert origin in CONTAINERS, f"{hint} has no JSON form"
    for one in typing.get_args(hint):
        if one is not Ellipsis:
            yield from parts(one)


def reached() -> dict[type, str]:
    """Dataclasses and enums that any verb's arguments or answer are made of, and where each was met first."""
    found: dict[type, str] = {}
    waiting = [(part, name) for name, hints in verbs() for hint in hints.values() for part in parts(hint)]
    while waiting:
        part, where = waiting.pop()
        if part in SIMPLE or part in found:
            continue
        assert isinstance(part, type), f"{where}: {part} is no class"
        found[part] = where
        if not dataclasses.is_dataclass(part):
            continue
        hints = typing.get_type_hints(part)
        for field in dataclasses.fields(part):
            if (part, field.name) in JSON_OBJECTS:
                assert hints[field.name] == dict[str, object]
                continue
            waiting += [(one, f"{part.__name__}.{field.name}") for one in parts(hints[field.name])]
    return found


def test_protocol_has_verbs() -> None:
    assert len(list(verbs())) >= 20


def test_types_are_frozen_dataclasses_and_enums_of_the_protocol() -> None:
    for part, where in reached().items():
        is_frozen = dataclasses.is_dataclass(part) and part.__dataclass_params__.frozen
        assert is_frozen or issubclass(part, StrEnum), f"{where}: {part} is neither a frozen dataclass nor an enum"
        assert part.__module__.startswith("computeagent.protocol."), f"{where}: {part} stands elsewhere"


def test_no_two_types_share_a_name() -> None:
    names = [part.__name__ for part in reached()]
    assert len(names) == len(set(names))
    known = {"HostReport", "NUMACell", "PciDeviceRecord", "GuestSpec", "InstanceNUMACell", "WorkOrder", "PowerState"}
    assert known <= set(names)
