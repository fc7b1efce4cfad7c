"""Settings of a policy between the values of its body and the text that a person edits.

An empty text means that the body does not name the setting, so that the installation's or Nova's value counts.
"""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from enum import Enum
from typing import Any

from django.utils.translation import gettext

from controlplane.dashboard.policies.differences import value_label
from controlplane.dashboard.policies.plugin_lines import SETTINGS
from scheduling.domain.policy import WEIGHTS, Policy, PolicyOptions

YES, NO = "yes", "no"


class SettingKind(Enum):
    """How a setting is edited."""

    FLAG = "flag"
    WHOLE = "whole"
    NUMBER = "number"
    TEXT = "text"
    NAMES = "names"
    WEIGHTS = "weights"
    JSON = "json"


class NotAValue(ValueError):
    """The text is none of the values that the setting can have. Its words say what it should be."""


@dataclass(frozen=True, slots=True)
class PolicySetting:
    """One setting. `path` is how problems name it: `max_attempts`, `options.max_io_ops_per_host`."""

    name: str
    path: str
    kind: SettingKind
    line: str


def _kind(name: str, default: Any) -> SettingKind:
    if isinstance(default, bool):
        return SettingKind.FLAG
    if isinstance(default, int):
        return SettingKind.WHOLE
    if isinstance(default, float):
        return SettingKind.NUMBER
    if isinstance(default, tuple):
        return SettingKind.NAMES
    if isinstance(default, Mapping):
        return SettingKind.WEIGHTS if name in WEIGHTS else SettingKind.JSON
    return SettingKind.TEXT


def _setting(each: Field[Any], where: str) -> PolicySetting:
    default = each.default
    if default is MISSING and each.default_factory is not MISSING:
        default = each.default_factory()
    return PolicySetting(each.name, where + each.name, _kind(each.name, default), SETTINGS.get(each.name, ""))


SCHEDULER_SETTINGS: tuple[PolicySetting, ...] = tuple(
    _setting(each, "") for each in fields(Policy) if each.name not in {"version", "filters", "weighers", "options"}
)
OPTION_SETTINGS: tuple[PolicySetting, ...] = tuple(_setting(each, "options.") for each in fields(PolicyOptions))


def text_of(value: Any, kind: SettingKind) -> str:
    """A value of the body as it is edited. Raises NotAValue for one that is not of this kind."""
    match kind, value:
        case SettingKind.FLAG, bool():
            return YES if value else NO
        case ((SettingKind.WHOLE | SettingKind.NUMBER), (int() | float())) if not isinstance(value, bool):
            return str(value)
        case SettingKind.TEXT, None | str():
            return value or ""
        case SettingKind.NAMES, (list() | tuple()) if all(isinstance(one, str) for one in value):
            return "\n".join(value)
        case SettingKind.WEIGHTS, Mapping():
            return "\n".join(f"{name} = {ratio}" for name, ratio in value.items())
        case SettingKind.JSON, Mapping():
            return json.dumps(value, indent=2) if value else ""
    raise NotAValue(gettext("%(value)s is not a value of this setting.") % {"value": value_label(value)})


def value_of(text: str, kind: SettingKind) -> Any:
    """The value that a text means. Raises NotAValue."""
    return _READERS[kind](text.strip())


def number_of(text: str) -> float:
    """A finite number. Raises NotAValue."""
    try:
        number = float(text)
    except ValueError:
        raise NotAValue(gettext("“%(text)s” is not a number.") % {"text": text[:40]}) from None
    if not math.isfinite(number):
        raise NotAValue(gettext("Must be a finite number."))
    return number


def _flag(text: str) -> bool:
    if text not in (YES, NO):
        raise NotAValue(gettext("Must be yes or no."))
    return text == YES


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise NotAValue(gettext("“%(text)s” is not a whole number.") % {"text": text[:40]}) from None


def _names(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _weights(text: str) -> dict[str, float]:
    weights: dict[str, float] = {}
    for line in _names(text):
        name, sign, ratio = line.rpartition("=")
        if not sign or not name.strip():
            raise NotAValue(f"“{line:.80}” is not of the form name = number.")
        weights[name.strip()] = number_of(ratio.strip())
    return weights


def json_object(text: str) -> dict[str, Any]:
    """A JSON object. Raises NotAValue."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise NotAValue("This is not JSON.") from None
    if not isinstance(value, dict):
        raise NotAValue("Must be a JSON object: {...}.")
    return value


_READERS: Mapping[SettingKind, Callable[[str], Any]] = {
    SettingKind.FLAG: _flag,
    SettingKind.WHOLE: _whole,
    SettingKind.NUMBER: number_of,
    SettingKind.TEXT: str,
    SettingKind.NAMES: _names,
    SettingKind.WEIGHTS: _weights,
    SettingKind.JSON: json_object,
}
