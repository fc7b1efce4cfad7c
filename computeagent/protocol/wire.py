"""How verbs travel: JSON made from the Protocol itself, so that there is no second list of verbs or fields.

Requests are objects with a verb's arguments by name, answers are its result. Both are decoded strictly into the
protocol's classes; a field that the reader does not know comes from a newer side and is ignored, a field that is
missing has its default. So two sides understand each other as long as nothing is removed: `PROTOCOL_VERSION` grows with
each release that changes anything, and a side talks to those one version away.
"""

import hashlib
import inspect
import typing
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec

from computeagent.protocol.conductor import Conductor
from computeagent.protocol.work import WorkWakeup
from controlplane.kernel.errors import Invalid

PROTOCOL_VERSION = 1
PREFIX = "/agent/v1/"
VERSION_HEADER = "Kilonova-Agent-Protocol"
AGENT_HEADER = "Kilonova-Agent-Id"
STREAMED = frozenset({"image_chunks"})
"""Verbs whose answer is bytes, not JSON."""

_encoder = msgspec.json.Encoder()


@dataclass(frozen=True, slots=True)
class Verb:
    """One verb: what decodes the body of its request and of its answer. `is_leased`: it is under a lease."""

    name: str
    request: "msgspec.json.Decoder[Any]"
    answer: "msgspec.json.Decoder[Any] | None"
    is_leased: bool
    is_list_of_wakeups: bool = False

    def arguments_of(self, body: bytes) -> dict[str, Any]:
        """The arguments that a body holds. Raises Invalid, which names the field."""
        try:
            request = self.request.decode(body or b"{}")
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise Invalid(f"The body of {self.name} cannot be read: {error}", field=_field(str(error))) from error
        return {name: getattr(request, name) for name in request.__struct_fields__}

    def answer_of(self, body: bytes) -> Any:
        """What an answer holds. Raises Invalid."""
        if self.answer is None:
            return None
        try:
            if self.is_list_of_wakeups:
                return _known_wakeups(body)
            return self.answer.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise Invalid(f"The answer of {self.name} cannot be read: {error}") from error


def encode(value: object) -> bytes:
    """JSON of arguments or of an answer."""
    return _encoder.encode(value)


@cache
def verbs() -> Mapping[str, Verb]:
    """All verbs of the Protocol, by name."""
    names = [name for name, each in vars(Conductor).items() if inspect.isfunction(each) and not name.startswith("_")]
    return {name: _verb(name) for name in names}


def _verb(name: str) -> Verb:
    function = getattr(Conductor, name)
    hints = typing.get_type_hints(function)
    fields: list[Any] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name == "self":
            continue
        hint = hints[parameter.name]
        has_default = parameter.default is not inspect.Parameter.empty
        fields.append((parameter.name, hint, parameter.default) if has_default else (parameter.name, hint))
    request = msgspec.defstruct(f"{name}_request", fields, frozen=True, kw_only=True)
    answer = None if name in STREAMED else msgspec.json.Decoder(hints["return"])
    is_wakeups = hints["return"] == list[WorkWakeup]
    return Verb(name, msgspec.json.Decoder(request), answer, "lease" in hints, is_wakeups)


def _known_wakeups(body: bytes) -> list[WorkWakeup]:
    """A control plane of a newer release may ring for kinds of work that this agent does not know: they are left."""
    known = []
    for raw in msgspec.json.decode(body, type=list[msgspec.Raw]):
        with suppress(msgspec.ValidationError):
            known.append(msgspec.json.decode(raw, type=WorkWakeup))
    return known


def _field(problem: str) -> str | None:
    """msgspec ends its messages with the place: `... - at `$.lease.attempt``."""
    _, found, place = problem.partition("`$.")
    return place.rstrip("`") if found else None


class EnrolRequest(msgspec.Struct, frozen=True):
    """Trade a one-time token for a secret, of which only the SHA-256 travels."""

    host: str
    token: str
    secret_digest: str


class RotateRequest(msgspec.Struct, frozen=True):
    """Replace the secret that the request comes with."""

    secret_digest: str


ENROL = Verb("enrol", msgspec.json.Decoder(EnrolRequest), None, is_leased=False)
ROTATE = Verb("rotate", msgspec.json.Decoder(RotateRequest), None, is_leased=False)
"""What is asked besides the Protocol's verbs, by which an agent comes to a secret of its own."""


def secret_digest(secret: str) -> str:
    """What the control plane knows of a secret: its SHA-256 in hexadecimal digits."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


def is_compatible(version: str | None) -> bool:
    """Whether a side of this version is at most one release away."""
    return bool(version and version.isdecimal() and abs(int(version) - PROTOCOL_VERSION) <= 1)


def incompatible_words(version: str | None) -> str:
    """For people: what does not fit, and what to do."""
    theirs = f"version {version}" if version else "no version"
    return (
        f"The other side speaks {theirs} of the agents' protocol and this side version {PROTOCOL_VERSION}; they may be "
        "one apart. Upgrade whichever is older, one release at a time."
    )
