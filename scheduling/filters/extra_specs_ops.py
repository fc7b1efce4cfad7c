"""The operator language of extra specs, as Nova has it, its historical surprises included."""

import operator
from collections.abc import Callable

_NUMERIC: dict[str, Callable[[float, float], bool]] = {
    # `=` means at least, and always has.
    "=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
}
_TEXT: dict[str, Callable[[str, str], bool]] = {
    "s==": operator.eq,
    "s!=": operator.ne,
    "s<": operator.lt,
    "s<=": operator.le,
    "s>": operator.gt,
    "s>=": operator.ge,
    "<in>": operator.contains,
}
_OPENING: dict[str, Callable[[float, float], bool]] = {"[": operator.ge, "(": operator.gt}
_CLOSING: dict[str, Callable[[float, float], bool]] = {"]": operator.le, ")": operator.lt}
_OF_WORDS = ("<or>", "<all-in>", "<range-in>")


def match(value: str | None, requirement: str) -> bool:
    """Whether `value` satisfies `requirement`: an operator and its operands, or the plain text itself.

    Without an operator the whole requirement equals the value. An operator without operand, or a value of None with
    one, does not match. Numeric operators raise ValueError where either side is no number. `<range-in> [ 2 8 )` is not
    in Nova's own language but in that of the library which its sister projects use.
    """
    words = requirement.split()
    name = words[0] if words else ""
    operands = words[1:]
    if name not in _NUMERIC and name not in _TEXT and name not in _OF_WORDS:
        return value == requirement
    if value is None or not operands:
        return False
    return _apply(name, value, operands)


def _apply(name: str, value: str, operands: list[str]) -> bool:
    if name == "<or>":
        # Words at even places are the choices, those between are further `<or>`s.
        return value in operands[::2]
    if name == "<all-in>":
        return all(word in value for word in operands)
    if name == "<range-in>":
        return _is_in_range(float(value), operands)
    if name in _TEXT:
        return _TEXT[name](value, operands[0])
    return _NUMERIC[name](float(value), float(operands[0]))


def _is_in_range(number: float, words: list[str]) -> bool:
    """`[` and `]` include their end, `(` and `)` do not."""
    if len(words) != 4 or words[0] not in _OPENING or words[3] not in _CLOSING:
        raise ValueError(f"could not convert {' '.join(words)!r} to a range such as [ 2 8 ]")
    low, high = float(words[1]), float(words[2])
    return _OPENING[words[0]](number, low) and _CLOSING[words[3]](number, high)
