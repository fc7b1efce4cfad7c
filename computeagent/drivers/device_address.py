"""PCI addresses, and patterns of them. Source: Nova's address forms of `[pci]device_spec`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from computeagent.protocol.pci import split_address
from controlplane.kernel.errors import Invalid

FIELD = "device_spec"
PARTS = ("domain", "bus", "slot", "function")
_MAX = {"domain": 0xFFFF, "bus": 0xFF, "slot": 0x1F, "function": 0x7}
_WIDTH = {"domain": 4, "bus": 2, "slot": 2, "function": 1}
ANY = "*"


@dataclass(frozen=True, slots=True)
class AddressPattern:
    """One pattern for each of domain, bus, slot and function: globs ('*' or hexadecimal), or regular expressions."""

    parts: tuple[str, str, str, str]
    is_regex: bool = False

    @property
    def is_single(self) -> bool:
        """Whether it names exactly one address."""
        return not self.is_regex and ANY not in self.parts

    def matches(self, address: str) -> bool:
        """Whether an address such as 0000:0a:00.1 fits. Raises Invalid for text that is no address."""
        pairs = zip(split_address(address, FIELD), self.parts, strict=True)
        if self.is_regex:
            return all(re.match(pattern, part) for part, pattern in pairs)
        return all(fnmatchcase(part, pattern) for part, pattern in pairs)


def parse_pattern(value: str | Mapping[str, str] | None) -> AddressPattern:
    """Text is a glob whose left parts may be missing ('*:0a:00.*', ':0a:', '.1'); a mapping has regular expressions.

    Nothing means any address. Raises Invalid.
    """
    if isinstance(value, Mapping):
        return _regex(value)
    glob, _, function = (value or "").partition(".")
    parts = glob.split(":") if glob else []
    if len(parts) > 3:
        raise Invalid(f"{value!r} has more than domain, bus and slot before the dot", field=FIELD)
    texts = [*[ANY] * (3 - len(parts)), *parts, function]
    checked = [_part(name, text.strip() or ANY) for name, text in zip(PARTS, texts, strict=True)]
    return AddressPattern((checked[0], checked[1], checked[2], checked[3]))


def _regex(value: Mapping[str, str]) -> AddressPattern:
    unknown = sorted(set(value) - set(PARTS))
    if unknown:
        raise Invalid(f"{unknown[0]} is no part of a PCI address ({', '.join(PARTS)})", field=FIELD)
    parts = [value.get(name, ".*") for name in PARTS]
    for pattern in parts:
        try:
            re.compile(pattern)
        except re.error as error:
            raise Invalid(f"{pattern!r} is no regular expression: {error}", field=FIELD) from error
    return AddressPattern((parts[0], parts[1], parts[2], parts[3]), is_regex=True)


def _part(name: str, text: str) -> str:
    if text == ANY:
        return ANY
    return hexadecimal(name, text, _MAX[name], _WIDTH[name])


def hexadecimal(name: str, text: str, maximum: int, width: int) -> str:
    """The number in lower case with leading zeros. Raises Invalid."""
    try:
        number = int(text, 16)
    except ValueError as error:
        raise Invalid(f"{name} {text!r} is no hexadecimal number", field=FIELD) from error
    if not 0 <= number <= maximum:
        raise Invalid(f"{name} {text} is above {maximum:X}", field=FIELD)
    return f"{number:0{width}x}"
