"""A file of an HTTP server, read as it comes. Neither its URL nor its server is trusted.

Each URL, also of each redirect, is held to the rules; its name is looked up once, and the connection goes to an address
that passed the rules, so a name that answers otherwise the next moment leads nowhere. No proxy or .netrc of the
environment is used. Nothing a server does holds a thread for long: connecting and the head of an answer have a limit
together, each read has one, so many bytes must come in a minute, and the whole has a deadline.
"""

import contextlib
import http.client
import logging
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from urllib3 import BaseHTTPResponse
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError

from controlplane.kernel.addresses import AddressRefused, addresses_resolve
from controlplane.kernel.errors import Invalid, Unavailable
from controlplane.kernel.texts import phrase as _
from servers.images.domain.remote_sources import (
    DEFAULT_PORTS,
    SourceRules,
    is_downgrade,
    redirect_target,
    url_reasons,
    url_without_query,
)

log = logging.getLogger(__name__)
MAX_REDIRECTS = 5
HEAD_S = 30.0
READ_S = 10.0
"""For each wait: connecting to one address, one piece of the body."""
MAX_ADDRESSES = 4
MIN_BYTES = 1024 * 1024
"""So many must come in each `slow_s`."""
MAX_CONNECTIONS = 50
"""Of one file: so often it is gone on with after a cut."""
FAILURES = (HTTPError, http.client.HTTPException, OSError, ValueError)
REDIRECTS = {301, 302, 303, 307, 308}
_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")
USER_AGENT = "kilonova-image-import"


class CutOff(Unavailable):
    """The connection ended before the file did, or came too slowly. The next try begins anew."""


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """`deadline_s`: for the whole file. `slow_s`: in which MIN_BYTES must come. `ca_file`: instead of the system's."""

    deadline_s: float
    slow_s: float
    ca_file: str = ""


@dataclass
class RemoteFile:
    """The body of one URL: `read` gives its bytes, and goes on after a cut where the server lets it.

    `between` is called before each wait for the network, and may raise to end it.
    """

    url: str
    rules: SourceRules
    limits: FetchLimits
    between: Callable[[], object] = lambda: None
    total_bytes: int | None = None
    received_bytes: int = 0
    is_end_known: bool = True
    """Whether a cut can be told from the end."""
    _etag: str = ""
    _response: BaseHTTPResponse | None = None
    _connection: HTTPConnection | None = None
    _connections: int = 0
    _deadline: float = field(init=False)
    _slow_at: tuple[float, int] = field(init=False)

    def __post_init__(self) -> None:
        self._deadline = time.monotonic() + self.limits.deadline_s
        self._slow_at = (time.monotonic(), 0)

    def open(self) -> None:
        """Connect and read the head of the answer. Raises Invalid for a refusal, Unavailable for what may pass."""
        self._follow(self.url)
        response = self._answered()
        length = response.headers.get("Content-Length", "")
        self.total_bytes = int(length) if length.isdecimal() else None
        is_chunked = "chunked" in response.headers.get("Transfer-Encoding", "").lower()
        self.is_end_known = is_chunked or self.total_bytes is not None
        etag = response.headers.get("ETag", "")
        self._etag = "" if etag.startswith("W/") else etag

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes; none at the end."""
        while True:
            self._check_time()
            try:
                data = self._answered().read1(size, decode_content=False)
            except FAILURES as error:
                self._go_on(error)
                continue
            if data:
                self.received_bytes += len(data)
                return data
            if self.total_bytes is None or self.received_bytes >= self.total_bytes:
                return b""
            self._go_on(None)

    def close(self) -> None:
        """Close the connection. Nothing happens the second time."""
        for part in (self._response, self._connection):
            if part is not None:
                with contextlib.suppress(Exception):
                    part.close()
        self._response = self._connection = None

    def _answered(self) -> BaseHTTPResponse:
        if self._response is None:
            raise CutOff(_("{url} is not open.", url=_named(self.url)))
        return self._response

    def _check_time(self) -> None:
        self.between()
        now = time.monotonic()
        if now > self._deadline:
            raise Invalid(
                _(
                    "{url} did not come within {deadline_s:g} s.",
                    url=_named(self.url),
                    deadline_s=self.limits.deadline_s,
                ),
                field="url",
            )
        since, bytes_then = self._slow_at
        if now - since >= self.limits.slow_s:
            if self.received_bytes - bytes_then < MIN_BYTES:
                raise CutOff(
                    _(
                        "{url} is too slow: {received_bytes} bytes in {now:.0f} s; {min_bytes} are the minimum.",
                        url=_named(self.url),
                        received_bytes=self.received_bytes - bytes_then,
                        now=now - since,
                        min_bytes=MIN_BYTES,
                    )
                )
            self._slow_at = (now, self.received_bytes)

    def _go_on(self, error: Exception | None) -> None:
        """Ask for the rest, if the server said by which mark it knows that the file is still the same."""
        why = f" ({type(error).__name__})" if error is not None else ""
        cut = CutOff(
            _(
                "{url} was cut off after {received_bytes} bytes{why}.",
                url=_named(self.url),
                received_bytes=self.received_bytes,
                why=why,
            )
        )
        if not self._etag or self.total_bytes is None or self._connections >= MAX_CONNECTIONS:
            raise cut from error
        try:
            self._follow(self.url, {"Range": f"bytes={self.received_bytes}-", "If-Range": self._etag})
        except Unavailable:
            self._check_time()
            raise
        found = _RANGE.fullmatch(self._answered().headers.get("Content-Range", ""))
        if self._answered().status != 206 or found is None or int(found[1]) != self.received_bytes:
            raise cut from error

    def _follow(self, url: str, headers: dict[str, str] | None = None) -> None:
        for _rest in range(MAX_REDIRECTS + 1):
            self.between()
            if reasons := url_reasons(url, self.rules):
                raise Invalid(f"{_named(url)}: {reasons[0]}", field="url")
            self.close()
            self._ask(url, headers or {})
            response = self._answered()
            location = response.headers.get("Location", "")
            if response.status not in REDIRECTS or not location:
                return self._check_answer(url)
            after = redirect_target(url, location)
            if is_downgrade(url, after):
                raise Invalid(_("{url} redirects to an address without encryption.", url=_named(url)), field="url")
            url = after
        raise Invalid(
            _("{url} redirects more than {max_redirects} times.", url=_named(self.url), max_redirects=MAX_REDIRECTS),
            field="url",
        )

    def _check_answer(self, url: str) -> None:
        response = self._answered()
        if response.status >= 500 or response.status == 429:
            raise Unavailable(_("{url} answers with status {status}.", url=_named(url), status=response.status))
        if response.status not in {200, 206}:
            raise Invalid(
                _("{url} answers with status {status}.", url=_named(url), status=response.status), field="url"
            )
        if response.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise Invalid(
                _("{url} sends the file in an encoding that was not asked for.", url=_named(url)), field="url"
            )

    def _ask(self, url: str, headers: dict[str, str]) -> None:
        """To the first address that can be reached, of those that the rules allow."""
        parts = urlsplit(url)
        host, port = (parts.hostname or "").rstrip("."), parts.port or DEFAULT_PORTS[parts.scheme]
        asked = {
            "Host": parts.netloc,
            "User-Agent": USER_AGENT,
            "Accept": "*/*",
            "Accept-Encoding": "identity",
            "Connection": "close",
            **headers,
        }
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        failure: Exception | None = None
        for address in self._addresses(host, port):
            self.between()
            self._connections += 1
            connection = self._connection_to(parts.scheme, host, address, port)
            self._connection = connection
            with _ended_after(connection, HEAD_S) as ended:
                try:
                    connection.connect()
                    connection.request("GET", path, headers=asked, preload_content=False, decode_content=False)
                    self._response = connection.getresponse()
                except FAILURES as error:
                    failure = error
            # A head that was cut short may look whole.
            if self._response is not None and not ended.is_set():
                return
            self.close()
            if ended.is_set():
                raise CutOff(_("{url} did not answer within {head_s:g} s.", url=_named(url), head_s=HEAD_S))
        reason = _("its certificate is not trusted") if _is_certificate(failure) else _("it cannot be reached")
        raise Unavailable(_("Nothing came from {url}: {reason}.", url=_named(url), reason=reason)) from failure

    def _addresses(self, host: str, port: int) -> list[str]:
        try:
            networks = self.rules.networks
            found = addresses_resolve(host, port, allowed_networks=networks, setting="IMAGE_IMPORT_NETWORKS")
            return found[:MAX_ADDRESSES]
        except AddressRefused as error:
            log.warning("an import from %s was refused: %s", host[:100], error)
            raise Invalid(_("The host {host} has no public address.", host=host[:100]), field="url") from error
        except (OSError, UnicodeError) as error:
            raise Unavailable(_("The host {host} is not known.", host=host[:100])) from error

    def _connection_to(self, scheme: str, host: str, address: str, port: int) -> HTTPConnection:
        if scheme != "https":
            return HTTPConnection(address, port, timeout=READ_S)
        return HTTPSConnection(
            address,
            port,
            timeout=READ_S,
            server_hostname=host,
            assert_hostname=host,
            ssl_context=ssl.create_default_context(cafile=self.limits.ca_file or None),
        )


def _is_certificate(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        error = error.__cause__ or error.__context__
    return False


@contextlib.contextmanager
def _ended_after(connection: HTTPConnection, seconds: float) -> Iterator[threading.Event]:
    """Cut the connection if the block takes longer: timeouts of sockets begin anew with each byte that comes."""
    ended = threading.Event()

    def end() -> None:
        ended.set()
        sock = connection.sock
        if sock is not None:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield ended
    finally:
        timer.cancel()


def _named(url: str) -> str:
    return url_without_query(url)[:200]
