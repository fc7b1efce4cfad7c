"""The commonest well-formed bodies, recognised at once: the validator takes a fifth of the time of a whole PUT.

What is recognised here the schema would accept; what is not, the schema judges. So nothing is accepted or refused
that the schema alone would not, which the property tests hold against it.
"""

import re
from typing import Any

from controlplane.kernel.ids import parse_uuid
from controlplane.openstack.quick_schema import Recognise

_NAME = re.compile(r"[A-Z0-9_]{1,255}")
_UUID_KEY = re.compile(r"[0-9a-fA-F-]{36}")
_MAX_OWNER = 255


def recognise_state(*, needs: frozenset[str], may: frozenset[str], minimum: int) -> Recognise:
    """For the body of one consumer, dict form: what it `needs` and `may` have; allocations of `minimum` providers."""

    def recognise(body: Any) -> bool:
        return (
            type(body) is dict
            and needs <= body.keys() <= needs | may
            and _is_owner(body["project_id"])
            and _is_owner(body["user_id"])
            and _is_generation(body.get("consumer_generation"))
            and _is_name(body.get("consumer_type", "A"))
            and _is_mappings(body.get("mappings"), is_there="mappings" in body)
            and _is_allocations(body["allocations"], minimum)
        )

    return recognise


def recognise_states(state: Recognise) -> Recognise:
    """For the bodies of several consumers."""

    def recognise(body: Any) -> bool:
        return type(body) is dict and bool(body) and all(_is_key(key) and state(one) for key, one in body.items())

    return recognise


def _is_owner(value: Any) -> bool:
    return type(value) is str and 1 <= len(value) <= _MAX_OWNER and "\0" not in value


def _is_generation(value: Any) -> bool:
    return value is None or type(value) is int


def _is_name(value: Any) -> bool:
    return type(value) is str and _NAME.fullmatch(value) is not None


def _is_key(value: str) -> bool:
    return _UUID_KEY.fullmatch(value) is not None


def _is_allocations(value: Any, minimum: int) -> bool:
    return (
        type(value) is dict and len(value) >= minimum and all(_is_key(key) and _is_entry(value[key]) for key in value)
    )


def _is_entry(value: Any) -> bool:
    return type(value) is dict and value.keys() == {"resources"} and _is_resources(value["resources"])


def _is_resources(value: Any) -> bool:
    return (
        type(value) is dict
        and bool(value)
        and all(_is_name(name) and type(amount) is int and amount >= 1 for name, amount in value.items())
    )


def _is_mappings(value: Any, *, is_there: bool) -> bool:
    if not is_there:
        return True
    return type(value) is dict and bool(value) and all(map(_is_uuids, value.values()))


def _is_uuids(value: Any) -> bool:
    return (
        type(value) is list
        and bool(value)
        and all(type(text) is str and parse_uuid(text) is not None for text in value)
    )
