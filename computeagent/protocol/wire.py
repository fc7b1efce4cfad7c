"""How verbs travel: JSON made from the Protocol itself, so that there is no second list of verbs or fields.

Requests are objects with a verb's arguments by name, answers are its result. Both are decoded strictly into the
protocol's classes; a field that the reader does not know comes from a newer side and is ignored, a field that is
missing has its default. So two sides understand each other as long as nothing is removed: `PROTOCOL_VERSION` grows with
each release that changes anything, and a side talks to those one version away.
"""

import hashlib
import inspect
import typing
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import msgspec

from computeagent.protocol.bounds import HostName, Name, Word
from computeagent.protocol.conductor import Conductor
from computeagent.protocol.fitting import Fit, fit_of
from computeagent.protocol.work import HostWakeup, Wakeup, WorkWakeup
from controlplane.kernel.errors import Invalid

PROTOCOL_VERSION = 1
PREFIX = "/agent/v1/"
VERSION_HEADER = "Kilonova-Agent-Protocol"
AGENT_HEADER = "Kilonova-Agent-Id"
STREAMED = frozenset({"image_chunks", "wanted_image_chunks"})
"""Verbs whose answer is bytes, not JSON."""
CARRYING = {"upload_piece": "data"}
"""Verbs whose request carries bytes after the JSON of the other arguments and a line feed, and the argument that they
are.
"""

MAX_VERSION_DIGITS = 20
MAX_PROBLEM = 300
"""So much of what is wrong with a message is said: it may name what a stranger sent."""
NUL, REPLACEMENT = b"\\u0000", b"\\ufffd"


def _as_text(value: object) -> str:
    """A text of a class of its own, as phrases of refusals are, which the encoder takes for no text."""
    if isinstance(value, str):
        return str(value)
    raise NotImplementedError(f"{type(value).__name__} is no part of the protocol")


_encoder = msgspec.json.Encoder(enc_hook=_as_text)


@dataclass(frozen=True, slots=True)
class Verb:
    """One verb: what decodes the body of its request and of its answer. `is_leased`: it is under a lease."""

    name: str
    request: "msgspec.json.Decoder[Any]"
    answer: "msgspec.json.Decoder[Any] | None"
    is_leased: bool
    is_list_of_wakeups: bool = False
    fits: Mapping[str, Fit] = field(default_factory=dict)

    def fitted(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """These arguments, shortened where their types allow it."""
        return {name: self.fits[name](value) if name in self.fits else value for name, value in arguments.items()}

    def body_of(self, arguments: Mapping[str, Any]) -> bytes:
        """The body of a request with these arguments."""
        carried = CARRYING.get(self.name)
        if carried is None:
            return encode(arguments)
        others = {name: value for name, value in arguments.items() if name != carried}
        return b"\n".join((encode(others), arguments[carried]))

    def arguments_of(self, body: bytes) -> dict[str, Any]:
        """The arguments that a body holds. Raises Invalid, which names the field."""
        carried = CARRYING.get(self.name)
        if carried is not None:
            head, _, data = body.partition(b"\n")  # JSON of ours has no line feed
            return {**self._decoded(head), carried: data}
        # What guests and hypervisors say may hold NUL, which PostgreSQL stores in no text.
        return self._decoded(body.replace(NUL, REPLACEMENT))

    def _decoded(self, body: bytes) -> dict[str, Any]:
        try:
            request = self.request.decode(body or b"{}")
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            # A value that is none of several is named there whole, however long it is.
            problem = str(error) if len(str(error)) <= MAX_PROBLEM else f"{str(error)[:MAX_PROBLEM]}..."
            raise Invalid(f"The body of {self.name} cannot be read: {problem}", field=_field(str(error))) from error
        return {name: getattr(request, name) for name in request.__struct_fields__}

    def answer_of(self, body: bytes) -> Any:
        """What an answer holds. Raises Invalid."""
        if self.answer is None:
            return None
        try:
            if self.is_list_of_wakeups:
                return _known_wakeups(self.answer.decode(body))
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
    hints = typing.get_type_hints(function, include_extras=True)
    fields: list[Any] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in {"self", CARRYING.get(name)}:
            continue
        hint = hints[parameter.name]
        has_default = parameter.default is not inspect.Parameter.empty
        fields.append((parameter.name, hint, parameter.default) if has_default else (parameter.name, hint))
    request = msgspec.defstruct(f"{name}_request", fields, frozen=True, kw_only=True)
    is_wakeups = hints["return"] in (list[Wakeup], list[WorkWakeup])
    answer_type = list[msgspec.Raw] if is_wakeups else hints["return"]
    answer = None if name in STREAMED else msgspec.json.Decoder(answer_type)
    fits = {name: fit for name, hint, *_ in fields if (fit := fit_of(hint)) is not None}
    return Verb(name, msgspec.json.Decoder(request), answer, "lease" in hints, is_wakeups, fits)


def _known_wakeups(sent: Sequence[msgspec.Raw]) -> list[Wakeup]:
    """A control plane of a newer release may ring for what this agent does not know: that is left."""
    known: list[Wakeup] = []
    for raw in sent:
        with suppress(msgspec.ValidationError):
            known.append(msgspec.json.decode(raw, type=WorkWakeup))
            continue
        with suppress(msgspec.ValidationError):
            known.append(msgspec.json.decode(raw, type=HostWakeup))
    return known


def _field(problem: str) -> str | None:
    """msgspec ends its messages with the place: `... - at `$.lease.attempt``."""
    _, found, place = problem.partition("`$.")
    return place.rstrip("`") if found else None


class EnrolRequest(msgspec.Struct, frozen=True):
    """Trade a one-time token for a secret, of which only the SHA-256 travels."""

    host: HostName
    token: Name
    secret_digest: Word


class RotateRequest(msgspec.Struct, frozen=True):
    """Replace the secret that the request comes with."""

    secret_digest: Word


_nothing = msgspec.json.Decoder(type(None))
ENROL = Verb("enrol", msgspec.json.Decoder(EnrolRequest), _nothing, is_leased=False)
ROTATE = Verb("rotate", msgspec.json.Decoder(RotateRequest), _nothing, is_leased=False)
"""What is asked besides the Protocol's verbs, by which an agent comes to a secret of its own."""


def secret_digest(secret: str) -> str:
    """What the control plane knows of a secret: its SHA-256 in hexadecimal digits."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


def is_compatible(version: str | None) -> bool:
    """Whether a side of this version is at most one release away."""
    number = version or ""
    return 0 < len(number) <= MAX_VERSION_DIGITS and number.isdecimal() and abs(int(number) - PROTOCOL_VERSION) <= 1


def incompatible_words(version: str | None) -> str:
    """For people: what does not fit, and what to do."""
    theirs = f"version {version}" if version else "no version"
    return (
        f"The other side speaks {theirs} of the agents' protocol and this side version {PROTOCOL_VERSION}; they may be "
        "one apart. Upgrade whichever is older, one release at a time."
    )
