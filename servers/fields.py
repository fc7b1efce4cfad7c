"""How rules speak: a rule returns the reasons against a value, none meaning that it is fine."""

from collections.abc import Mapping, Sequence

from controlplane.kernel.errors import InvalidFields
from controlplane.kernel.printable import is_printable
from controlplane.kernel.texts import phrase as _

Reasons = list[str]
Problems = dict[str, Reasons]

INTEGER_MAX = 2**31 - 1
"""What an integer column holds on every database."""


def problems_found(candidates: Mapping[str, Sequence[str]]) -> Problems:
    """Only the fields that have reasons against them."""
    return {field: list(reasons) for field, reasons in candidates.items() if reasons}


def refuse_if(problems: Problems) -> None:
    """Raise InvalidFields when anything was found."""
    found = problems_found(problems)
    if found:
        raise InvalidFields(found)


def is_storable(text: str) -> bool:
    """Whether every database and every encoder takes it: no NUL, no half of a surrogate pair."""
    return "\x00" not in text and not any("\ud800" <= char <= "\udfff" for char in text)


def name_reasons(name: object, *, maximum: int = 255) -> Reasons:
    """1 to `maximum` printable characters, spaces of every kind among them, none of these at an end."""
    if not isinstance(name, str):
        return [_("Must be text, not {name}.", name=type(name).__name__)]
    if not name.strip():
        return [_("Must not be blank.")]
    reasons = []
    if len(name) > maximum:
        reasons.append(_("Has {count} characters; at most {maximum} are allowed.", count=len(name), maximum=maximum))
    if not is_printable(name):
        reasons.append(_("Has characters that cannot be printed."))
    elif name != name.strip():
        reasons.append(_("Must not begin or end with a space."))
    return reasons


def text_reasons(text: object, *, maximum: int) -> Reasons:
    """At most `maximum` characters of any text that can be stored."""
    if not isinstance(text, str):
        return [_("Must be text, not {name}.", name=type(text).__name__)]
    if len(text) > maximum:
        return [_("Has {count} characters; at most {maximum} are allowed.", count=len(text), maximum=maximum)]
    return [] if is_storable(text) else [_("Has characters that cannot be stored (NUL or a lone surrogate).")]


def whole_number_reasons(value: object, *, minimum: int, maximum: int = INTEGER_MAX) -> Reasons:
    """A whole number from `minimum` to `maximum`; a boolean is not a number."""
    if not isinstance(value, int) or isinstance(value, bool):
        return [_("Must be a whole number, not {value!r:.40}.", value=value)]
    if value < minimum:
        return [_("Is {value}; the least is {minimum}.", value=value, minimum=minimum)]
    return [_("Is {value}; the most is {maximum}.", value=value, maximum=maximum)] if value > maximum else []
