"""What the values of query parameters mean: amounts, traits, aggregates, a tree. All faults are 400.

The parameters themselves (which there are, which version has them) are the views' business.
"""

from collections.abc import Collection, Sequence
from uuid import UUID

from controlplane.kernel.ids import parse_uuid
from controlplane.openstack.faults import bad_request
from placement.domain import MAX_INT
from placement.selectors.names import unknown_resource_classes, unknown_traits

FORBIDDEN_TRAITS_SINCE = 22
REPEATED_MEMBER_OF_SINCE = 24
FORBIDDEN_AGGREGATES_SINCE = 32
ANY_TRAITS_SINCE = 39

MORE_THAN_ANYBODY_HAS = MAX_INT + 1

ALTERNATIVES = "in:"
EXCEPT = "!"

AnyOfTraits = tuple[frozenset[str], ...]
AnyOfAggregates = tuple[frozenset[UUID], ...]

_INVALID = "Invalid query string parameters"
_RESOURCES_FORM = (
    "Badly formed resources parameter. Expected resources query string parameter in form: "
    "?resources=VCPU:2,MEMORY_MB:1024. Got:"
)


def parse_resources(text: str) -> dict[str, int]:
    """`VCPU:2,MEMORY_MB:1024` as {class: amount}; amounts are at least 1, in the class's unit.

    What nobody can give in one piece is cut to MORE_THAN_ANYBODY_HAS, which stays impossible and fits in columns.
    """
    if not text.strip():
        raise bad_request(f"{_RESOURCES_FORM} empty string.")
    return dict(_amount(part) for part in text.split(","))


def _amount(part: str) -> tuple[str, int]:
    name, separator, number = part.partition(":")
    if not separator or ":" in number:
        raise bad_request(f"{_RESOURCES_FORM} {part}.")
    try:
        amount = int(number)
    except ValueError as error:
        raise bad_request(f"Requested resource {name} expected positive integer amount. Got: {number}.") from error
    if amount < 1:
        raise bad_request(f"Requested resource {name} requires amount >= 1. Got: {amount}.")
    return name, min(amount, MORE_THAN_ANYBODY_HAS)


def parse_required(texts: Sequence[str], minor: int) -> tuple[AnyOfTraits, frozenset[str]]:
    """The values of `required` as (sets of which one trait each is needed, traits that must not be there).

    `A,B` needs both, `!A` (1.22) forbids, `in:A,B` (1.39) needs one. Below 1.39 the last value alone counts.
    """
    required: list[frozenset[str]] = []
    forbidden: set[str] = set()
    for text in texts if minor >= ANY_TRAITS_SINCE else texts[-1:]:
        if text.startswith(ALTERNATIVES):
            required.append(_alternatives(text, minor))
            continue
        names = [name.strip() for name in text.split(",")]
        _check_required(text, names, minor)
        required += [frozenset({name}) for name in names if not name.startswith(EXCEPT)]
        forbidden |= {name.lstrip(EXCEPT) for name in names if name.startswith(EXCEPT)}
    return tuple(required), frozenset(forbidden)


def _alternatives(text: str, minor: int) -> frozenset[str]:
    if minor < ANY_TRAITS_SINCE:
        raise bad_request(
            f"{_INVALID}: The format 'in:HW_CPU_X86_VMX,CUSTOM_MAGIC' only supported since microversion 1.39. "
            f"Got: {text}"
        )
    names = frozenset(name.strip() for name in text.removeprefix(ALTERNATIVES).split(","))
    if "" in names:
        raise bad_request(
            f"{_INVALID}: Expected 'required' parameter value of the form: in:HW_CPU_X86_VMX,CUSTOM_MAGIC. "
            f"Got an empty trait in: {text}"
        )
    if any(name.startswith(EXCEPT) for name in names):
        raise bad_request(
            f"{_INVALID}: The format 'in:HW_CPU_X86_VMX,CUSTOM_MAGIC' does not support forbidden traits. Got: {text}"
        )
    return names


def _check_required(text: str, names: Sequence[str], minor: int) -> None:
    may_forbid = minor >= FORBIDDEN_TRAITS_SINCE
    form = f"HW_CPU_X86_VMX,{EXCEPT if may_forbid else ''}CUSTOM_MAGIC"
    expected = f"{_INVALID}: Expected 'required' parameter value of the form: {form}."
    if not all(name.lstrip(EXCEPT) for name in names):
        raise bad_request(f"{expected} Got an empty trait in: {text}")
    if not may_forbid and any(name.startswith(EXCEPT) for name in names):
        raise bad_request(f"{expected} Got: {text}")


def parse_member_of(values: Sequence[str], minor: int, suffix: str = "") -> tuple[AnyOfAggregates, frozenset[UUID]]:
    """The values of `member_of` as (sets of which one aggregate each is needed, aggregates it must not be in).

    A uuid, `in:` and several, `!` and a uuid, or `!in:` and several (both 1.32); repeated from 1.24 on. `suffix` is
    that of the parameter, for the message.
    """
    if len(values) > 1 and minor < REPEATED_MEMBER_OF_SINCE:
        raise bad_request(f"Multiple member_of{suffix} parameters are not supported")
    required: list[frozenset[UUID]] = []
    forbidden: frozenset[UUID] = frozenset()
    for value in values:
        aggregates = _aggregates(value)
        if not value.startswith(EXCEPT):
            required.append(aggregates)
        elif minor >= FORBIDDEN_AGGREGATES_SINCE:
            forbidden |= aggregates
        else:
            raise bad_request(f"Forbidden member_of{suffix} parameters are not supported in the specified microversion")
    return tuple(required), forbidden


def _aggregates(value: str) -> frozenset[UUID]:
    text = value.removeprefix(EXCEPT)
    if "," in text and not text.startswith(ALTERNATIVES):
        raise bad_request(
            "Multiple values for 'member_of' must be prefixed with the 'in:' or '!in:' keyword using the valid "
            f"microversion. Got: {value}"
        )
    return frozenset(map(_aggregate, text.removeprefix(ALTERNATIVES).split(",")))


def _aggregate(text: str) -> UUID:
    uuid = parse_uuid(text)
    if uuid is None:
        raise bad_request(f"{_INVALID}: Expected 'member_of' parameter to contain valid UUID(s). Got: {text}")
    return uuid


def parse_in_tree(text: str) -> UUID:
    """The provider whose tree is meant."""
    uuid = parse_uuid(text.strip())
    if uuid is None:
        raise bad_request(f"{_INVALID}: Expected 'in_tree' parameter to be a format of uuid. Got: {text}")
    return uuid


def check_resource_classes(names: Collection[str]) -> None:
    """400 when one of these classes does not exist. No query when all are standard ones."""
    unknown = unknown_resource_classes(names)
    if unknown:
        raise bad_request(
            f"Invalid resource class in resources parameter: No such resource class {', '.join(sorted(unknown))}."
        )


def check_traits(names: Collection[str]) -> None:
    """400 when one of these traits does not exist. No query when all are standard ones."""
    unknown = unknown_traits(names)
    if unknown:
        raise bad_request(f'Invalid trait(s) in "required" parameter: No such trait(s): {", ".join(sorted(unknown))}.')
