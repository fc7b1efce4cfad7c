"""Scheduler hints that filters read as text: near an address, and the user's own expression over hosts."""

import json
from collections.abc import Callable, Mapping
from ipaddress import ip_address, ip_network
from typing import Any

from servers.fields import Reasons, is_storable

QUERY_CHARACTERS = 4096


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
