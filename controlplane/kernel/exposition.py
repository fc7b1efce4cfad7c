"""Prometheus' text format, version 0.0.4, as its documentation states it: families of samples, one sample a line."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_METRIC_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABEL_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_LABEL_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
_HELP_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n"})


class MetricType(StrEnum):
    """The types used here. What is counted over a window goes up and down, so it is a gauge."""

    GAUGE = "gauge"
    SUMMARY = "summary"


@dataclass(frozen=True, slots=True)
class Sample:
    """One value. `suffix` belongs to the name: a summary's `_sum` and `_count`."""

    value: float
    labels: Mapping[str, str] = field(default_factory=dict)
    suffix: str = ""


@dataclass(frozen=True, slots=True)
class Family:
    """Samples of one name. Without samples only its description is printed."""

    name: str
    type: MetricType
    help: str
    samples: tuple[Sample, ...] = ()


def gauge(name: str, help_text: str, samples: Iterable[Sample]) -> Family:
    """A family of gauges."""
    return Family(name, MetricType.GAUGE, help_text, tuple(samples))


def exposition(families: Iterable[Family]) -> str:
    """The page. Raises ValueError for a name that the format does not allow, and for a family or sample twice."""
    lines: list[str] = []
    names: set[str] = set()
    for family in families:
        _check_name(family.name, names)
        lines.append(f"# HELP {family.name} {family.help.translate(_HELP_ESCAPES)}")
        lines.append(f"# TYPE {family.name} {family.type}")
        lines += _lines(family)
    return "".join(f"{line}\n" for line in lines)


def _check_name(name: str, seen: set[str]) -> None:
    if _METRIC_NAME.fullmatch(name) is None:
        raise ValueError(f"{name!r} is no name for a metric")
    if name in seen:
        raise ValueError(f"{name} is there twice")
    seen.add(name)


def _lines(family: Family) -> list[str]:
    made = {f"{family.name}{each.suffix}{_labels(each.labels)}": each.value for each in family.samples}
    if len(made) < len(family.samples):
        raise ValueError(f"{family.name} has two samples with the same labels")
    return [f"{name} {_number(value)}" for name, value in made.items()]


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    for name in labels:
        if _LABEL_NAME.fullmatch(name) is None:
            raise ValueError(f"{name!r} is no name for a label")
    pairs = (f'{name}="{value.translate(_LABEL_ESCAPES)}"' for name, value in labels.items())
    return "{" + ",".join(pairs) + "}"


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) else repr(float(value))
