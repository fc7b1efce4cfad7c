"""What two versions of a policy differ in, setting by setting."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from difflib import SequenceMatcher
from typing import Any

from controlplane.kernel.texts import Phrase, gettext_noop
from scheduling.domain.policy import Policy

LISTS = ("filters", "weighers", "options")
NONE = gettext_noop("none")
FILTER, WEIGHER = gettext_noop("Filter"), gettext_noop("Weigher")
SETTING, OPTION = gettext_noop("Setting"), gettext_noop("Option")
LEFT_OUT = {
    FILTER: gettext_noop("Filters"),
    WEIGHER: gettext_noop("Weighers"),
    SETTING: gettext_noop("Settings"),
    OPTION: gettext_noop("Options"),
}


@dataclass(frozen=True, slots=True)
class PolicyDifference:
    """One thing that is different. `old` and `new` are words for people; empty: it is not there."""

    part: str
    name: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class DifferenceTable:
    """Differences as they are shown: what changed line by line, what is only left out by its names."""

    changed: list[PolicyDifference]
    left_out: dict[str, list[str]]


def difference_table(differences: list[PolicyDifference]) -> DifferenceTable:
    """What is left out needs no line of its own."""
    left_out: dict[str, list[str]] = {}
    for one in differences:
        if not one.new:
            left_out.setdefault(LEFT_OUT[one.part], []).append(one.name)
    return DifferenceTable([one for one in differences if one.new], left_out)


def policy_differences(old: Policy, new: Policy) -> list[PolicyDifference]:
    """All of them: filters by what was added, removed or moved, weighers by multiplier, settings by value."""
    return [*_filters(old, new), *_weighers(old, new), *_settings(old, new), *_options(old, new)]


def _filters(old: Policy, new: Policy) -> Iterator[PolicyDifference]:
    """A filter counts as moved when it is not in the longest stretch of filters that keep their order."""
    blocks = SequenceMatcher(None, old.filters, new.filters, autojunk=False).get_matching_blocks()
    unmoved = {name for block in blocks for name in old.filters[block.a : block.a + block.size]}
    for name in dict.fromkeys((*old.filters, *new.filters)):
        if name not in unmoved:
            yield PolicyDifference(FILTER, name, _place(old.filters, name), _place(new.filters, name))


def _place(names: tuple[str, ...], name: str) -> str:
    place = gettext_noop("{number} of {total}")
    return Phrase(place, number=names.index(name) + 1, total=len(names)) if name in names else ""


def _weighers(old: Policy, new: Policy) -> Iterator[PolicyDifference]:
    before, after = _multipliers(old), _multipliers(new)
    for name in dict.fromkeys((*before, *after)):
        if before.get(name) != after.get(name):
            yield PolicyDifference(WEIGHER, name, before.get(name, ""), after.get(name, ""))


def _multipliers(policy: Policy) -> dict[str, str]:
    own = gettext_noop("default")
    return {one.name: own if one.multiplier is None else number_text(one.multiplier) for one in policy.weighers}


def _settings(old: Policy, new: Policy) -> Iterator[PolicyDifference]:
    for each in fields(Policy):
        if each.name not in ("version", *LISTS):
            yield from _changed(SETTING, each.name, getattr(old, each.name), getattr(new, each.name))


def _options(old: Policy, new: Policy) -> Iterator[PolicyDifference]:
    for each in fields(old.options):
        yield from _changed(OPTION, each.name, getattr(old.options, each.name), getattr(new.options, each.name))


def _changed(part: str, name: str, before: Any, after: Any) -> Iterator[PolicyDifference]:
    if before != after:
        yield PolicyDifference(part, name, value_label(before), value_label(after))


def value_label(value: Any) -> str:
    """A setting's value for people."""
    if isinstance(value, bool):
        return gettext_noop("yes") if value else gettext_noop("no")
    if isinstance(value, Mapping):
        return ", ".join(f"{key} = {one}" for key, one in value.items()) or NONE
    if isinstance(value, list | tuple):
        return ", ".join(str(one) for one in value) or NONE
    if value is None or value == "":
        return NONE
    return number_text(value) if isinstance(value, float) else str(value)


def number_text(value: float) -> str:
    """A number as people write it: 1000000, 0.5."""
    return f"{value:.15g}"
