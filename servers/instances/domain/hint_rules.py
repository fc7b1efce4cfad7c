"""Scheduler hints: those that our filters read as text, and those that nobody here knows and plug-ins may read."""

import json
from collections.abc import Callable, Collection, Mapping
from ipaddress import ip_address, ip_network
from typing import Any

from controlplane.kernel.texts import phrase as _
from servers.fields import Reasons, is_storable

QUERY_CHARACTERS = 4096
HINT_NAME_CHARACTERS, HINT_CHARACTERS, HINT_VALUES, CARRIED_CHARACTERS = 255, 1024, 100, 16384
LARGEST_NUMBER = 2**63 - 1
OWN_PREFIX = "_nova"


def text_hints(hints: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, Reasons]]:
    """The text of each such hint that can be read, and what is wrong with the others, by hint."""
    found: dict[str, str] = {}
    problems: dict[str, Reasons] = {}
    for name, read in _READERS.items():
        if name not in hints:
            continue
        try:
            found[name] = read(hints[name])
        except ValueError as error:
            problems[name] = [str(error)]
    return found, problems


def carried_hints(hints: Mapping[str, Any], known: Collection[str]) -> tuple[dict[str, list[str]], dict[str, Reasons]]:
    """The hints that are not `known`, each as a list of text, and what is wrong with the others, by hint.

    As in Nova any name will do: who reads it is a plug-in, and nobody does where there is none.
    """
    found: dict[str, list[str]] = {}
    problems: dict[str, Reasons] = {}
    for name, value in hints.items():
        if name in known:
            continue
        reason = _name_problem(name) or _value_problem(value)
        if reason:
            problems[name] = [reason]
        else:
            found[name] = [str(one) for one in (value if isinstance(value, list) else [value])]
    if sum(len(name) + sum(map(len, values)) for name, values in found.items()) > CARRIED_CHARACTERS:
        text = _(
            "Hints for plug-ins have {carried_characters} characters at most, all together.",
            carried_characters=CARRIED_CHARACTERS,
        )
        problems |= {name: [text] for name in list(found)[-1:]}
    return found, problems


def _name_problem(name: str) -> str:
    if not 0 < len(name) <= HINT_NAME_CHARACTERS or not name.isprintable():
        return _(
            "A hint's name has 1 to {hint_name_characters} printable characters.",
            hint_name_characters=HINT_NAME_CHARACTERS,
        )
    return _("Names that begin with _nova are the scheduler's own.") if name.startswith(OWN_PREFIX) else ""


def _value_problem(value: Any) -> str:
    values = value if isinstance(value, list) else [value]
    if not 0 < len(values) <= HINT_VALUES or not all(isinstance(one, str | int | float) for one in values):
        return _("Must be text or a number, or a list of 1 to {hint_values} of these.", hint_values=HINT_VALUES)
    if any(isinstance(one, int) and abs(one) > LARGEST_NUMBER for one in values):
        return _("A number is at most {largest_number}.", largest_number=LARGEST_NUMBER)
    if not all(len(text) <= HINT_CHARACTERS and is_storable(text) for text in map(str, values)):
        return _(
            "Each value has at most {hint_characters} characters, without NUL and halves of surrogates.",
            hint_characters=HINT_CHARACTERS,
        )
    return ""


def _address(value: Any) -> str:
    try:
        return str(ip_address(value if isinstance(value, str) else ""))
    except ValueError:
        raise ValueError("Must be an IP address.") from None


def _prefix(value: Any) -> str:
    """A length or a mask; whether it suits the address is seen when both come together."""
    text = value if isinstance(value, str) else ""
    for address in ("10.0.0.1", "::1"):
        try:
            ip_network(f"{address}{text}", strict=False)
        except ValueError:
            continue
        if text.startswith("/"):
            return text
    raise ValueError("Must be a prefix such as /24.")


def _query(value: Any) -> str:
    """JSON text, or the list it stands for."""
    text = value if isinstance(value, str) else json.dumps(value)
    if len(text) > QUERY_CHARACTERS:
        raise ValueError(f"Has {len(text)} characters; at most {QUERY_CHARACTERS} are allowed.")
    try:
        query = json.loads(text)
    except (ValueError, RecursionError):
        query = None
    if not isinstance(query, list) or not is_storable(text):
        raise ValueError("Must be a JSON list of an operator and its arguments.")
    return text


_READERS: dict[str, Callable[[Any], str]] = {"build_near_host_ip": _address, "cidr": _prefix, "query": _query}
TEXT_HINTS = tuple(_READERS)
