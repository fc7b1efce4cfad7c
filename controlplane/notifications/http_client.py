"""One HTTP POST to a receiver: no redirects, no proxies, one deadline for all of it, and never an exception.

The connection goes to an address that was checked, not to the name again, and a receiver that drips its answer byte by
byte is cut off at the deadline like one that says nothing.
"""

import http.client
import io
import socket
import ssl
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from controlplane.kernel.addresses import addresses_resolve
from controlplane.notifications.conf import NETWORKS_SETTING

MAX_READ_BYTES = 500


@dataclass(frozen=True, slots=True)
class WebhookResponse:
    """What a receiver said. `status` None: it could not be reached, and `problem` says why. `body` is there for who
    asked for more than the beginning.
    """

    status: int | None
    problem: str
    body_start: str
    duration_ms: int
    body: bytes = b""

    @property
    def is_accepted(self) -> bool:
        """Whether the receiver answered with any 2xx status."""
        return self.status is not None and 200 <= self.status < 300


def http_post(
    *,
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    timeout_s: float,
    allowed_networks: Sequence[str] = (),
    max_read_bytes: int | None = None,
) -> WebhookResponse:
    """Send it; a redirect is an answer like any other that is not 2xx, since a signed body goes nowhere else.

    `timeout_s` is for the whole exchange; looking up the name counts, and ends by the resolver's own limit. With
    `max_read_bytes` the whole answer is read, and one that is longer is a problem.
    """
    started = time.monotonic()
    status, problem, answer = None, "", b""
    try:
        status, answer = _exchange(url, body, headers, timeout_s, allowed_networks, max_read_bytes)
        if not 200 <= status < 300:
            problem = f"the receiver answered {status}"
    except (OSError, http.client.HTTPException, ssl.SSLError, ValueError) as error:
        problem = f"{type(error).__name__}: {error}"[:500]
    duration_ms = int((time.monotonic() - started) * 1000)
    return WebhookResponse(status, problem, _text(answer), duration_ms, answer if max_read_bytes else b"")


def _exchange(  # noqa: PLR0917 - it is `http_post` without its errors
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    timeout_s: float,
    allowed_networks: Sequence[str],
    max_read_bytes: int | None,
) -> tuple[int, bytes]:
    until = time.monotonic() + timeout_s
    parts = urlsplit(url)
    is_tls = parts.scheme == "https"
    host, port = parts.hostname or "", parts.port or (443 if is_tls else 80)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        addresses = addresses_resolve(host, port, allowed_networks=allowed_networks, setting=NETWORKS_SETTING)
        with _connected(addresses, port, until, tls_name=host if is_tls else "") as sock:
            # It opens no connection of its own, as it has one; the class says which port goes without saying.
            kind = http.client.HTTPSConnection if is_tls else http.client.HTTPConnection
            connection = kind(host, parts.port)
            connection.sock = _BoundedSocket(sock, until)
            connection.request("POST", target, body=body, headers=dict(headers))
            response = connection.getresponse()
            if max_read_bytes is None:
                return response.status, response.read1(MAX_READ_BYTES)
            answer = response.read(max_read_bytes + 1)
            if len(answer) > max_read_bytes:
                raise ValueError(f"the answer has more than {max_read_bytes} bytes")
            return response.status, answer
    except TimeoutError as error:
        raise TimeoutError(f"no answer within {timeout_s:g} s") from error


def _connected(addresses: Sequence[str], port: int, until: float, *, tls_name: str) -> socket.socket:
    """To the first of the addresses that answers. Raises the error of the last one."""
    for address in addresses:
        try:
            sock = socket.create_connection((address, port), timeout=_left_s(until))
            break
        except OSError:
            if address == addresses[-1]:
                raise
    if not tls_name:
        return sock
    try:
        sock.settimeout(_left_s(until))  # of the whole handshake
        return ssl.create_default_context().wrap_socket(sock, server_hostname=tls_name)
    except BaseException:
        sock.close()
        raise


class _BoundedSocket:
    """What http.client needs of a socket, each call bounded by what is left until one deadline."""

    def __init__(self, sock: socket.socket, until: float) -> None:
        self._sock, self._until = sock, until

    def sendall(self, data: Any) -> None:
        """All of it, or TimeoutError."""
        rest = memoryview(data)
        while rest:
            self._sock.settimeout(_left_s(self._until))
            rest = rest[self._sock.send(rest) :]

    def makefile(self, mode: str) -> io.BufferedReader:
        """The answer as it comes in."""
        return io.BufferedReader(_BoundedReads(self._sock, self._until))

    def close(self) -> None:
        """Nothing: http.client calls this before the answer is read, and whoever made the socket closes it."""


class _BoundedReads(io.RawIOBase):
    def __init__(self, sock: socket.socket, until: float) -> None:
        self._sock, self._until = sock, until

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._sock.settimeout(_left_s(self._until))
        return self._sock.recv_into(buffer)


def _left_s(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace").replace("\x00", "")[:MAX_READ_BYTES]
