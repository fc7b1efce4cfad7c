"""The editor of extra specs: one row a key, with what the key means and what it may be set to."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.http import HttpRequest, QueryDict
from django.utils.translation import gettext as _

from controlplane.kernel.texts import gettext_noop
from servers.catalog.domain.extra_specs.rules import KeyRule
from servers.catalog.domain.extra_specs.table import EXTRA_SPEC_RULES, extra_spec_complaint, rule_of
from servers.fields import Problems
from servers.instances.domain.not_provided import flavor_refusals

BLANK_ROWS = 2
MAX_ROWS = 300
OWN_KEY = gettext_noop("This key is not in the table: it is kept as it is, and only host aggregates may look at it.")


@dataclass(frozen=True, slots=True)
class SpecRow:
    """One key and value as they stand in the form, with what is known of the key and what is wrong with the pair.

    `refused`: why no instance gets it here, though it may be saved. `choices` are values to choose from, where they can
    be listed.
    """

    key: str = ""
    value: str = ""
    meaning: str = ""
    allowed: str = ""
    wrong: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    refused: str = ""


def hint_number(request: HttpRequest) -> str:
    """The number of the row that asks for its hint, by the id of the field that was changed; empty for none."""
    trigger = str(getattr(getattr(request, "htmx", None), "trigger", "") or "")
    number = trigger.rpartition("-")[2]
    return number if number.isascii() and number.isdecimal() and len(number) < 5 else ""


def spec_row(key: str, value: str, wrong: Sequence[str] = ()) -> SpecRow:
    """The row of a pair. What the table says against it is added to `wrong`, once."""
    if not key:
        return SpecRow(key, value, wrong=tuple(wrong))
    rule = rule_of(key)
    complaint = extra_spec_complaint(key, value) if value or rule is None else ""
    reasons = tuple(dict.fromkeys([*wrong, *([complaint] if complaint else [])]))
    if rule is not None:
        refused = "".join(flavor_refusals({key: value})) if value else ""
        return SpecRow(key, value, rule.meaning, must_be(rule), reasons, rule.allowed.choices, refused)
    return SpecRow(key, value, "" if complaint else OWN_KEY, "", reasons)


def must_be(rule: KeyRule) -> str:
    """What a key may be set to, in the reader's language."""
    return _("It must be %(allowed)s.") % {"allowed": rule.allowed.sentence(_)}


def spec_rows(pairs: Iterable[tuple[str, str]], problems: Problems | None = None) -> list[SpecRow]:
    """Rows of these pairs, each with its own problems, and blank ones to add more."""
    wrong = problems or {}
    rows = [spec_row(key, value, wrong.get(f"extra_specs.{key}", [])) for key, value in pairs]
    return rows + [SpecRow()] * BLANK_ROWS


def posted_pairs(data: QueryDict) -> list[tuple[str, str]]:
    """What was typed, row by row, without rows left blank."""
    keys, values = data.getlist("spec_key")[:MAX_ROWS], data.getlist("spec_value")[:MAX_ROWS]
    pairs = [(key.strip(), value.strip()) for key, value in zip(keys, values, strict=False)]
    return [pair for pair in pairs if any(pair)]


def pair_problems(pairs: Iterable[tuple[str, str]]) -> Problems:
    """What only a form can get wrong: a value without a key, a key twice."""
    problems: dict[str, list[str]] = {}
    seen: set[str] = set()
    for key, value in pairs:
        if not key:
            problems.setdefault("extra_specs.", []).append(_("The value %(value)s has no key.") % {"value": value[:80]})
        elif key in seen:
            problems.setdefault(f"extra_specs.{key}", []).append(
                _("%(key)s is there more than once.") % {"key": key[:80]}
            )
        seen.add(key)
    return problems


def rules_by_namespace() -> Mapping[str, list[KeyRule]]:
    """The whole table for people to read, under the names of its namespaces."""
    found: dict[str, list[KeyRule]] = {}
    for rule in EXTRA_SPEC_RULES:
        found.setdefault(rule.namespace or _("without a namespace"), []).append(rule)
    return found


def keys_offered() -> list[KeyRule]:
    """Keys that can be typed as they are; those of families have parts to be filled in."""
    return [rule for rule in EXTRA_SPEC_RULES if not rule.is_family]
