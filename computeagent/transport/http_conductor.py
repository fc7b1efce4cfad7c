"""The Conductor over HTTP: each verb is one POST, its errors are the same exceptions, its bytes can be resumed."""

import functools
import json
import logging
from collections.abc import Callable, Collection, Iterator
from typing import Any, cast

import urllib3

from computeagent.protocol.conductor import Conductor
from computeagent.protocol.refusals import DoorRefused, SecretTaken, SecretUnknown
from computeagent.protocol.wire import (
    AGENT_HEADER,
    ENROL,
    PREFIX,
    PROTOCOL_VERSION,
    ROTATE,
    STREAMED,
    VERSION_HEADER,
    Verb,
    encode,
    secret_digest,
    verbs,
)
from computeagent.transport.address import CONNECT_S, ControlPlaneAddress
from computeagent.transport.secret_file import SecretFile
from computeagent.transport.secret_rotation import SecretRotation
from controlplane.kernel import errors
from controlplane.kernel.errors import Conflict, Fenced, Forbidden, Invalid, KilonovaError, Unavailable
from controlplane.kernel.ids import is_request_id
from controlplane.kernel.kill_points import Injected, reach
from controlplane.kernel.request_scope import REQUEST_ID_HEADER, current_request_id

log = logging.getLogger(__name__)

CHUNK_BYTES = 2**20
STREAM_CUTS = 5
"""Cuts without a byte between them after which reading an image is given up."""


_CLASSES = {
    each.code: each
    for each in (
        errors.Invalid, errors.NotFound, errors.Forbidden, errors.Conflict, errors.Fenced, errors.NoCapacity,
        errors.QuotaExceeded, errors.TooLarge, SecretTaken,
    )
}  # fmt: skip
_REFUSED: dict[str, type[DoorRefused]] = {"secret_refused": SecretUnknown, "incompatible": DoorRefused}


def http_conductor(address: ControlPlaneAddress, secret: SecretFile) -> Conductor:
    """The conductor of this control plane for the agent whose secret this is."""
    return cast("Conductor", HttpConductor(address, secret))


def enrol(address: ControlPlaneAddress, secret: SecretFile, *, host: str, token: str) -> None:
    """Trade a one-time token for the secret of `host`. Asked again, after a cut or by the same command, it has the same
    effect; refused, it has none.

    Raises Forbidden, Invalid, DoorRefused, Unavailable.
    """
    conductor, had_begun = HttpConductor(address, secret), secret.waiting() is not None
    following = secret.next_secret()
    try:
        conductor.trade(host, token, following)
    except SecretTaken:  # the disk of another host was copied, with what it had begun
        secret.forget_next()
        following = secret.next_secret()
        conductor.trade(host, token, following)
    except Forbidden:
        if not had_begun:
            secret.forget_next()
        current = secret.read()
        if current is None:
            raise
        conductor.trade(host, token, current)  # which takes this token where it gave this very secret
        return
    secret.take(following)


class HttpConductor:
    """Every verb of the Protocol is an attribute: it takes a verb's arguments and gives its answer."""

    def __init__(self, address: ControlPlaneAddress, secret: SecretFile) -> None:
        self._address = address
        self._pool = address.pool()
        self._secret = secret
        self._rotation = SecretRotation(secret, self._replace)
        self._agent_id = ""
        self._cut: set[tuple[str, str]] = set()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        verb = verbs().get(name)
        if verb is None:
            raise AttributeError(name)
        return functools.partial(self._stream if name in STREAMED else self._call, verb)

    def host_own(self, *, agent_id: str, **arguments: Any) -> None:
        """See Conductor. The id of the agent travels with every request from then on."""
        self._agent_id = agent_id
        self._by_newest_secret(functools.partial(self._call, verbs()["host_own"], agent_id=agent_id, **arguments))

    def heartbeat(self, **arguments: Any) -> Any:
        """See Conductor. The secret is rotated when it is time to."""
        return self._by_newest_secret(functools.partial(self._call, verbs()["heartbeat"], **arguments))

    def _by_newest_secret(self, call: Callable[[], Any]) -> Any:
        self._rotation.rotate_if_due()
        try:
            return call()
        except SecretUnknown:
            if not self._rotation.fall_back():
                raise
            return call()

    def trade(self, host: str, token: str, secret: str) -> None:
        """A one-time token for this secret. Raises Forbidden, Invalid, SecretTaken, DoorRefused, Unavailable."""
        self._keep(ENROL, encode({"host": host, "token": token, "secret_digest": secret_digest(secret)}))

    def _replace(self, secret: str, by: str) -> None:
        """See `secret_rotation.Replace`."""
        self._keep(ROTATE, encode({"secret_digest": secret_digest(by)}), secret=secret)

    def _keep(self, verb: Verb, body: bytes, **asked: Any) -> None:
        """Only the control plane's own answer is one: a network where one has to log in answers 200, too."""
        data = self.ask(verb, body, **asked).data
        try:
            verb.answer_of(data)
        except Invalid as error:
            raise Unavailable(f"{verb.name} was answered with HTTP 200, not by the control plane") from error

    def _call(self, verb: Verb, **arguments: Any) -> Any:
        # A long poll is answered when its time is over at the latest.
        wait_s = float(arguments.get("timeout_s", 0.0))
        fitted = verb.fitted(arguments)
        self._note_cut(verb, [name for name, value in fitted.items() if value is not arguments[name]])
        return verb.answer_of(self.ask(verb, verb.body_of(fitted), wait_s=wait_s).data)

    def _note_cut(self, verb: Verb, names: Collection[str]) -> None:
        """Once of each, as the same is told again and again."""
        for name in names:
            if (verb.name, name) not in self._cut:
                self._cut.add((verb.name, name))
                log.warning("what this host tells by %s is cut, as a message takes no more of %s", verb.name, name)

    def _stream(self, verb: Verb, *, offset: int = 0, **arguments: Any) -> Iterator[bytes]:
        """The bytes, begun again where they were cut. Errors of the verb itself come at once, as with others."""
        answer = self.ask(verb, encode({**arguments, "offset": offset}), is_streamed=True)
        return self._pieces(verb, answer, offset, arguments)

    def _pieces(
        self, verb: Verb, answer: urllib3.BaseHTTPResponse, offset: int, arguments: dict[str, Any]
    ) -> Iterator[bytes]:
        cuts = 0
        while True:
            try:
                for piece in answer.stream(CHUNK_BYTES, decode_content=False):
                    offset += len(piece)
                    cuts = 0
                    yield piece
                return
            except urllib3.exceptions.HTTPError as error:
                cuts += 1
                log.warning("an image was cut off after %d bytes: %s", offset, error)
                if cuts > STREAM_CUTS:
                    raise Unavailable(f"the image was cut off again and again after {offset} bytes") from error
            finally:
                answer.release_conn()
            body = encode({**arguments, "offset": offset})
            answer = self.ask(verb, body, is_streamed=True)

    def ask(
        self, verb: Verb, body: bytes, *, wait_s: float = 0.0, is_streamed: bool = False, secret: str | None = None
    ) -> urllib3.BaseHTTPResponse:
        """One request, whose answer may come `wait_s` later than others; with another secret than the one in use, if
        one is given. Raises what the verb raises; Unavailable when no answer came, or none of the control plane's.
        """
        try:
            reach(f"computeagent.transport.{verb.name}:before")
            answer = self._pool.request(
                "POST",
                self._address.path_of(PREFIX + verb.name),
                body=body,
                headers=self._headers(secret),
                timeout=urllib3.Timeout(connect=CONNECT_S, read=self._address.answer_s + wait_s),
                preload_content=not is_streamed,
                redirect=False,
            )
            reach(f"computeagent.transport.{verb.name}:after")
        except (urllib3.exceptions.HTTPError, Injected) as error:
            raise Unavailable(f"the control plane does not answer: {error}") from error
        if answer.status == 200:
            return answer
        raise _error_of(verb, answer)

    def _headers(self, secret: str | None) -> dict[str, str]:
        headers = {"Content-Type": "application/json", VERSION_HEADER: str(PROTOCOL_VERSION)}
        secret = secret or self._secret.read()
        if secret is not None:
            headers["Authorization"] = f"Bearer {secret}"
        if self._agent_id:
            headers[AGENT_HEADER] = self._agent_id
        request_id = current_request_id()
        if is_request_id(request_id):
            headers[REQUEST_ID_HEADER] = request_id
        return headers


def _error_of(verb: Verb, answer: urllib3.BaseHTTPResponse) -> KilonovaError:
    """The exception that an answer of the control plane stands for; Unavailable for one that is none of its own."""
    try:
        found = json.loads(answer.data)["error"]
        code, message, field = str(found["code"]), str(found["message"]), found.get("field")
        wait_s = float(found.get("wait_s") or 0.0)
    except (ValueError, KeyError, TypeError, AttributeError, urllib3.exceptions.HTTPError):
        return Unavailable(f"{verb.name} was answered with HTTP {answer.status}, not by the control plane")
    if code in _REFUSED:
        # Under a lease, an agent stops its work by Fenced alone.
        return Fenced(message) if verb.is_leased else _REFUSED[code](message)
    if code == errors.Throttled.code:
        return Unavailable(message, wait_s=wait_s or 1.0)
    if answer.status >= 500:
        return Unavailable(message)
    kind = _CLASSES.get(code)
    if kind is None:
        kind = Invalid if answer.status < 409 else Conflict
    return kind(message, field=field)
