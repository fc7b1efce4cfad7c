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


def match(value: str | None, requirement: str) -> bool:
    """Whether `value` satisfies `requirement`: an operator and its operands, or the plain text itself.

    Without an operator the whole requirement equals the value. An operator without operand, or a value of None with
    one, does not match. Numeric operators raise ValueError where either side is no number.
    """
    words = requirement.split()
    name = words[0] if words else ""
    operands = words[1:]
    if name not in _NUMERIC and name not in _TEXT and name not in ("<or>", "<all-in>"):
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
    if name in _TEXT:
        return _TEXT[name](value, operands[0])
    return _NUMERIC[name](float(value), float(operands[0]))
