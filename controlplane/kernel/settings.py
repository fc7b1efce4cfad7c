"""How a setting is declared, once: a field of a frozen dataclass that carries its bounds and what it means.

    @dataclass(frozen=True, slots=True)
    class WorkOptions:
        lease_s: float = setting(30.0, "Seconds a worker owns a piece of work before it must renew.", min_value=1.0)

In the environment its name is LEASE_S. Its value, its row in `docs/settings.md` and the check of its bounds are all
made from this declaration. Nothing here needs Django, so an agent may declare and read settings the same way.
"""

import dataclasses
import ipaddress
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from controlplane.kernel.booleans import is_boolean, is_true
from controlplane.kernel.texts import phrase as _

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Value = bool | int | float | str | Path | tuple[str, ...]
T = TypeVar("T", bool, int, float, str, Path, tuple[str, ...])
O = TypeVar("O", bound="DataclassInstance")  # noqa: E741 - the options of one app


@dataclass(frozen=True, slots=True)
class Setting:
    """One declared setting. `name` is that of the environment variable; the type of `default` is the setting's type.

    `problem` says of a value what is wrong with it, beginning with "must", or nothing: for rules that bounds and
    choices cannot express. It must not repeat the value of a secret.
    """

    name: str
    default: Value
    help: str
    min_value: float
    max_value: float | None
    choices: tuple[str, ...]
    problem: Callable[[Any], str]

    @property
    def kind(self) -> str:
        """What a value must be, as pages and errors say it."""
        if self.choices:
            return _("one of {choices}", choices=", ".join(self.choices))
        match self.default:
            case bool():
                return _("yes or no")
            case tuple():
                return _("words separated by commas")
            case int() | float():
                noun = _("a whole number") if isinstance(self.default, int) else _("a number")
                return _("{noun} {bounds}", noun=noun, bounds=_bounds(self.min_value, self.max_value))
            case _:
                return _("text")

    @property
    def default_text(self) -> str:
        """The default as somebody would write it in the environment."""
        if isinstance(self.default, bool):
            return "yes" if self.default else "no"
        return ",".join(self.default) if isinstance(self.default, tuple) else str(self.default)

    def parse(self, raw: str) -> Value:
        """The value that this text means. Raises ValueError with a sentence that names the setting."""
        try:
            value = self._of_text(raw)
            if reason := self.out_of_bounds(value):
                raise ValueError(reason)
        except ValueError as error:
            raise ValueError(f"{self.name} must be {self.kind}, not {raw!r}: {error}") from error
        if problem := self.problem(value):
            raise ValueError(f"{self.name} {problem}")
        return value

    def out_of_bounds(self, value: Value) -> str:
        """How the value breaks the declared bounds or choices; empty when it keeps them."""
        if self.choices:
            return "" if value in self.choices else "unknown"
        if isinstance(value, int | float) and not isinstance(value, bool):
            # "Not at least" instead of "below", because a NaN is neither.
            if not value >= self.min_value:
                return f"below {self.min_value:g}"
            if self.max_value is not None and value > self.max_value:
                return f"above {self.max_value:g}"
        return ""

    def _of_text(self, raw: str) -> Value:
        match self.default:
            case bool():
                if not is_boolean(raw):
                    raise ValueError("neither yes nor no")
                return is_true(raw)
            case int():
                return int(raw)
            case float():
                return float(raw)
            case tuple():
                return tuple(word.strip() for word in raw.split(",") if word.strip()) or self.default
            case Path():
                return Path(raw)
            case _:
                return raw


def _bounds(min_value: float, max_value: float | None) -> str:
    return (
        f">= {min_value:g}"
        if max_value is None
        else _("from {min_value:g} to {max_value:g}", min_value=min_value, max_value=max_value)
    )


def setting(
    default: T,
    help_text: str,
    *,
    env: str = "",
    min_value: float = 0,
    max_value: float | None = None,
    choices: tuple[str, ...] = (),
    problem: Callable[[T], str] = lambda _: "",
    is_secret: bool = False,
) -> T:
    """A field of an options class. `env` is the variable's name where it is not the field's in capitals; the value of
    a secret does not show where the options are printed.

    A default that begins with `./` lies in the checkout, and `$KILONOVA_STATE` in it is the state directory: whoever
    reads the environment puts these in. Numbers are never below `min_value`.
    """
    declared = Setting(env, default, help_text, min_value, max_value, choices, problem)
    return dataclasses.field(default=default, repr=not is_secret, metadata={"setting": declared})


def settings_of(options: "type[DataclassInstance]") -> dict[str, Setting]:
    """The declared settings of an options class by field name, in the order they are written."""
    declared = {}
    for field in dataclasses.fields(options):
        one: Setting = field.metadata["setting"]
        declared[field.name] = dataclasses.replace(one, name=one.name or field.name.upper())
    return declared


def options_from(options: type[O], values: Mapping[str, Any]) -> O:
    """The options that these values, by environment name, make. Every setting must be among them: a value that is
    missing here would be a second default.
    """
    return options(**{field: values[one.name] for field, one in settings_of(options).items()})


def bound_problems(options: "DataclassInstance") -> Iterator[tuple[Setting, str]]:
    """Each setting whose value breaks its declaration, with a sentence: values need not come from the environment."""
    for field, one in settings_of(type(options)).items():
        value = getattr(options, field)
        if one.out_of_bounds(value):
            yield one, f"{one.name} must be {one.kind}, not {value!r}."


def networks_problem(words: tuple[str, ...]) -> str:
    """For settings that are lists of IP addresses and networks."""
    for word in words:
        try:
            ipaddress.ip_network(word)
        except ValueError as error:
            return f"must hold addresses and networks: {error}"
    return ""
