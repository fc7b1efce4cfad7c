"""What Django answers, made in a thread, and how the loop sends it: no thread waits for whoever reads it."""

import asyncio
import logging
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass
from typing import IO, Any

from django.core import signals
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.http.response import HttpResponse, HttpResponseBase
from django.urls import set_script_prefix

from controlplane.infra.conf import web_options
from controlplane.launcher.web.connections import GuardedProtocol
from controlplane.launcher.web.incoming import Arriving, BodyTooSlow, ClientGone, Message, Receive, Scope, Send

log = logging.getLogger(__name__)

Headers = list[tuple[bytes, bytes]]
Around = Callable[[], AbstractContextManager[Any]]
PIECE_BYTES = 256 * 2**10
"""So much of an answer is read and sent at a time."""
NO_BODY = frozenset({204, 304})
CLOSE = (b"Connection", b"close")
LINGER_S, LINGER_BYTES = 5.0, 16 * 2**20
"""So long is read on, and so much, of a body that was refused."""


@dataclass(slots=True)
class WebResponse:
    """One that is whole: `body`, or what can be read from `file`."""

    status: int
    headers: Headers
    body: bytes = b""
    file: IO[bytes] | None = None
    close: Callable[[], None] | None = None
    """To be called in a thread, once its file is read."""


class ThreadedHandler(ASGIHandler):
    """Django's own reading of ASGI requests, with its middleware and views in the thread that calls."""

    def __init__(self) -> None:
        # Not the parent's, which would load the middleware for coroutines.
        self.load_middleware()

    def answer(self, scope: Scope, body: Any, around: Sequence[Around] = ()) -> WebResponse:
        """Serve the request, inside what `around` gives, and read its answer, but for files."""
        with ExitStack() as stack:
            for each in around:
                stack.enter_context(each())
            return _answer_of(self._response(scope, body))

    def _response(self, scope: Scope, body: Any) -> HttpResponseBase:
        set_script_prefix(get_script_prefix(scope))
        signals.request_started.send(sender=self.__class__, scope=scope)
        request, refused = self.create_request(scope, body)
        response: HttpResponseBase = self.get_response(request) if request is not None else refused or HttpResponse()
        response._handler_class = self.__class__  # type: ignore[attr-defined] # whom the signal at its end names
        return response


def _answer_of(response: HttpResponseBase) -> WebResponse:
    """In the thread that made it. Generators are run here too, since they may ask the database."""
    headers = [(name.encode("ascii"), value.encode("latin1")) for name, value in response.items()]
    headers += [
        (b"Set-Cookie", morsel.output(header="").strip().encode("ascii")) for morsel in response.cookies.values()
    ]
    answer = WebResponse(response.status_code, headers)
    if not response.streaming:
        answer.body = response.content  # type: ignore[attr-defined]
        response.close()
    elif (file := getattr(response, "file_to_stream", None)) is not None:
        answer.file, answer.close = file, response.close
    else:
        answer.file = file = tempfile.SpooledTemporaryFile(PIECE_BYTES)  # noqa: SIM115 - closed with the answer
        for piece in response:
            file.write(piece)
        response.close()
        headers.append((b"Content-Length", str(file.tell()).encode()))
        file.seek(0)
        answer.close = file.close
    has_length = any(name.lower() == b"content-length" for name, _ in headers)
    if answer.file is None and not has_length and answer.status not in NO_BODY:
        headers.append((b"Content-Length", str(len(answer.body)).encode()))
    return answer


class FileUnreadable(Exception):
    """A file that is an answer could not be read to its end."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request as it came, and the way back."""

    scope: Scope
    receive: Receive
    send: Send
    connection: GuardedProtocol


class Sender:
    """Sends answers. Files are read by threads of its own, a piece at a time."""

    def __init__(self, readers: ThreadPoolExecutor) -> None:
        self._readers = readers

    async def send(self, answer: WebResponse, exchange: Exchange, unread: Arriving | None = None) -> None:
        """All of it, as fast as it is taken. A client that takes nothing for too long is cut off.

        With the rest of a body that is refused, which is not awaited, the connection is closed after the answer.
        """
        if unread is not None:
            answer.headers = [
                *((name, value) for name, value in answer.headers if name.lower() != b"connection"),
                CLOSE,
            ]
        head = {"type": "http.response.start", "status": answer.status, "headers": answer.headers}
        try:
            if answer.file is None or exchange.scope["method"] == "HEAD":
                await _send_bytes(head, answer.body, exchange, is_all=unread is None)
            else:
                await _within(exchange, head)
                await self._send_file(answer.file, exchange, is_all=unread is None)
            if unread is not None:
                await _some_read(unread)
                await _within(exchange, _piece(b"", is_last=True))
        except TimeoutError:
            exchange.connection.cut()
        except FileUnreadable as error:
            log.warning("a large answer could not be read to its end: %s", error)
            exchange.connection.cut()
        finally:
            if answer.close is not None:
                self._readers.submit(answer.close)

    async def _send_file(self, file: IO[bytes], exchange: Exchange, *, is_all: bool) -> None:
        # A piece is read ahead, since the last one has to say that it is: see `_piece`.
        piece = await self._read(file)
        while not exchange.connection.is_gone:
            following = await self._read(file) if piece else b""
            await _within(exchange, _piece(piece, is_last=is_all and not following))
            if not following:
                return
            piece = following

    async def _read(self, file: IO[bytes]) -> bytes:
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._readers, file.read, PIECE_BYTES)
        except Exception as error:  # whatever stops it from being read ends this connection alone
            raise FileUnreadable(str(error)) from error


async def _send_bytes(head: Message, body: bytes, exchange: Exchange, *, is_all: bool) -> None:
    """Raises TimeoutError."""
    await _within(exchange, head, _piece(body[:PIECE_BYTES], is_last=is_all and len(body) <= PIECE_BYTES))
    # What goes out in pieces waits in memory by pieces too, however slowly it is taken.
    for at in range(PIECE_BYTES, len(body), PIECE_BYTES):
        if exchange.connection.is_gone:
            return
        is_last = at + PIECE_BYTES >= len(body)
        await _within(exchange, _piece(body[at : at + PIECE_BYTES], is_last=is_all and is_last))


def _piece(piece: bytes, *, is_last: bool) -> Message:
    """The last piece ends the answer with its last byte: who has that may ask again at once, on the same connection."""
    return {"type": "http.response.body", "body": piece, "more_body": not is_last}


async def _some_read(unread: Arriving) -> None:
    """A connection that is closed while a body still comes may take the answer with it."""
    with suppress(TimeoutError, ClientGone, BodyTooSlow):
        async with asyncio.timeout(LINGER_S):
            while unread.received < LINGER_BYTES and await unread.next():
                pass


async def _within(exchange: Exchange, *messages: Message) -> None:
    """Send these. Raises TimeoutError where what was sent before is not taken in time."""
    for message in messages:
        if not exchange.connection.has_much_unsent:
            await exchange.send(message)  # which waits for nothing: the connection takes it into memory
            continue
        async with asyncio.timeout(web_options().large_answer_stalled_s):
            await exchange.send(message)
