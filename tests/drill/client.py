"""The stage's HTTP client: the admin's, patient with a web server that is being killed."""

import http.client
import json
import time
from dataclasses import dataclass
from typing import Any

from tests.drill.names import PASSWORD

TIMEOUT_S = 20.0


class NoAnswerError(Exception):
    """The connection broke: whether the request was carried out is not known."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Status and parsed body."""

    status: int
    body: Any

    @property
    def is_ok(self) -> bool:
        """2xx."""
        return 200 <= self.status < 300


class Client:
    """Calls of `/api/`, or of a whole path. Safe to use from many threads."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._token = ""

    def log_in(self) -> None:
        """Get the token that all further calls carry."""
        answer = self.call("tokens/", {"username": "admin", "password": PASSWORD})
        assert answer.is_ok, answer
        self._token = answer.body["token"]

    def call(self, path: str, body: Any = None, method: str | None = None, *, timeout_s: float = 30.0) -> Answer:
        """One call. A refused connection is tried again for `timeout_s`, as nothing can have happened by it.

        Raises NoAnswerError.
        """
        until = time.monotonic() + timeout_s
        while True:
            try:
                return self._once(
                    path if path.startswith("/") else f"/api/{path}",
                    body,
                    method or ("GET" if body is None else "POST"),
                )
            except ConnectionRefusedError as error:
                if time.monotonic() > until:
                    raise NoAnswerError(f"nobody listens at port {self.port}") from error
                time.sleep(0.1)
            except (OSError, http.client.HTTPException) as error:
                raise NoAnswerError(f"{type(error).__name__}: {error}") from error

    def is_ready(self) -> bool:
        """Whether `/readyz` says 200."""
        try:
            return self._once("/readyz", None, "GET").is_ok
        except (OSError, http.client.HTTPException):
            return False

    def _once(self, path: str, body: Any, method: str) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_S)
        try:
            headers = {"Content-Type": "application/json"} | ({"X-Auth-Token": self._token} if self._token else {})
            data = None if body is None else json.dumps(body)
            connection.request(method, path, body=data, headers=headers)
            answer = connection.getresponse()
            text = answer.read()
            return Answer(answer.status, _parsed(text))
        finally:
            connection.close()


def _parsed(text: bytes) -> Any:
    try:
        return json.loads(text) if text else None
    except ValueError:
        return text.decode(errors="replace")[:500]
