"""The ASGI application of one web process: what waits is a coroutine, and only a whole request takes a thread.

Long polls, streams, consoles and uploads each have a way of their own; everything else is read whole, served by one of
a fixed number of threads, and sent as fast as its reader takes it.
"""

import asyncio
import io
import logging
import string
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http import HTTPStatus
from typing import Any
from urllib.parse import quote_from_bytes, unquote_to_bytes

from django.urls import get_resolver
from django.utils.encoding import repercent_broken_unicode

from computeagent.protocol.consoles import BROWSER_CONSOLE_PATH, CONSOLE_PATH
from controlplane.identity.addresses import address_of
from controlplane.infra.event_streams import STREAM_PATH, places_offered
from controlplane.kernel.errors import Invalid, KilonovaError
from controlplane.launcher.web.answers import Around, Exchange, Sender, ThreadedHandler, WebResponse
from controlplane.launcher.web.console_ends import WebSocketEnd
from controlplane.launcher.web.console_relay import ConsoleRelay
from controlplane.launcher.web.consoles import ConsoleOffer
from controlplane.launcher.web.incoming import Arriving, Body, BodyTooSlow, ClientGone, Receive, Scope, Send, Spools
from controlplane.launcher.web.polls import Waiting
from controlplane.launcher.web.refusals import refusal
from controlplane.launcher.web.routes import is_upload, largest_body
from controlplane.launcher.web.streams import StreamOffer, StreamRoom, Streams
from controlplane.launcher.web.uploads import UploadedBody
from servers.agent_door.wakeups import (
    LONG_POLL_PATH,
    MAX_POLL_BYTES,
    LongPoll,
    long_poll_answer,
    long_poll_begin,
    long_poll_ended,
    long_poll_give_up,
)
from servers.consoles.places import console_places_offered
from servers.images.downloads import senders_needed
from servers.images.uploads import uploads_at_once

log = logging.getLogger(__name__)

CONSOLES = frozenset({BROWSER_CONSOLE_PATH, CONSOLE_PATH})
MAX_PATH_BYTES = 32 * 2**10
"""Of path and query together."""
MORE_READERS = 4
"""Threads that read files which are no images."""
MORE_UPLOADS = 4
"""Threads for uploads that are refused before a byte of them is read."""


class UrlTooLong(Invalid):
    """Path and query are longer than any that is served."""

    code = "url_too_long"


STATUS: dict[type[KilonovaError], int] = {UrlTooLong: 414, BodyTooSlow: 408}


class Application:
    """One for a process, made in its loop's thread."""

    def __init__(self, threads: int) -> None:
        self._handler = ThreadedHandler()
        _ = get_resolver().url_patterns  # imports every view
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="requests")
        self._uploads = ThreadPoolExecutor(uploads_at_once() + MORE_UPLOADS, thread_name_prefix="uploads")
        readers = ThreadPoolExecutor(senders_needed() + MORE_READERS, thread_name_prefix="files")
        self._sender = Sender(readers)
        self._spools = Spools()
        self._waiting = Waiting()
        self._room = StreamRoom()
        self._streams = Streams(self._room, self._threads)
        self._consoles: ConsoleRelay | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        scope["path"] = _path_of(scope["raw_path"])
        if not scope["query_string"].isascii():
            scope["query_string"] = quote_from_bytes(scope["query_string"], safe=string.printable).encode()
        exchange = Exchange(scope, receive, send, scope["state"]["connection"])
        if scope["type"] == "websocket":
            await self._websocket(exchange)
            return
        with exchange.connection.request():
            try:
                await self._http(exchange)
            except ClientGone:
                log.debug("a client left before its request was whole")

    def close(self) -> None:
        """The process stops: whoever waits is answered, and comes again to another."""
        self._waiting.close()
        self._streams.close()
        if self._consoles is not None:
            self._consoles.close()

    async def _http(self, exchange: Exchange) -> None:
        scope, arriving = exchange.scope, Arriving(exchange.receive)
        if is_upload(scope["method"], scope["path"]):
            await self._upload(exchange, arriving)
            return
        try:
            body = await self._whole(scope, arriving)
        except KilonovaError as error:
            answer = refusal(scope, error, status=STATUS.get(type(error), 0))
            await self._sender.send(answer, exchange, unread=arriving)
            return
        try:
            if scope["path"] == STREAM_PATH and scope["http_version"] != "1.0":
                await self._stream(exchange, body)
            elif scope["path"] == LONG_POLL_PATH and (poll := await self._poll(scope, body)) is not None:
                await self._poll_answered(poll, exchange, body)
            else:
                await self._sender.send(await self._served(scope, body.file), exchange)
        finally:
            body.close()

    async def _upload(self, exchange: Exchange, arriving: Arriving) -> None:
        stream = UploadedBody(arriving, asyncio.get_running_loop())
        answer = await self._served(exchange.scope, stream, threads=self._uploads)
        await self._sender.send(answer, exchange, unread=None if arriving.is_over else arriving)

    async def _whole(self, scope: Scope, arriving: Arriving) -> Body:
        """The body. Raises KilonovaError, ClientGone."""
        if len(scope["raw_path"]) + len(scope["query_string"]) > MAX_PATH_BYTES:
            raise UrlTooLong(f"Path and query are longer than {MAX_PATH_BYTES} bytes.", limit=MAX_PATH_BYTES)
        length = next((value for name, value in scope["headers"] if name == b"content-length"), b"")
        announced = int(length) if length.isdigit() else None
        limit = MAX_POLL_BYTES if scope["path"] == LONG_POLL_PATH else largest_body(scope["path"])
        body = await self._spools.whole(arriving, whose=_address(scope), limit=limit, announced=announced)
        if announced is None and body.size:  # sent in chunks: by now its length is known
            scope["headers"].append((b"content-length", str(body.size).encode()))
        return body

    async def _served(
        self, scope: Scope, body: Any, around: Sequence[Around] = (), threads: ThreadPoolExecutor | None = None
    ) -> WebResponse:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(threads or self._threads, self._handler.answer, scope, body, around)

    async def _poll(self, scope: Scope, body: Body) -> LongPoll | None:
        """Judged in a thread. None for one that is refused: served, it says why."""
        headers = {name.decode("latin1"): value.decode("latin1") for name, value in scope["headers"]}
        text = body.file.read()
        body.file.seek(0)
        return await asyncio.get_running_loop().run_in_executor(self._threads, long_poll_begin, headers, text)

    async def _poll_answered(self, poll: LongPoll, exchange: Exchange, body: Body) -> None:
        was_sent = False
        try:
            if await self._waiting.over(poll, exchange.receive):
                answer = _ended(poll) or await self._served(
                    exchange.scope, body.file, [partial(long_poll_answer, poll)]
                )
                await self._sender.send(answer, exchange)
                was_sent = answer.status == HTTPStatus.OK and not exchange.connection.is_gone
        finally:
            if not was_sent:
                self._threads.submit(long_poll_give_up, poll)

    async def _stream(self, exchange: Exchange, body: Body) -> None:
        offer = StreamOffer(self._room)
        answer = await self._served(exchange.scope, body.file, [partial(places_offered, offer)])
        if offer.taken is None:
            await self._sender.send(answer, exchange)
            return

        async def begin() -> None:
            headers = [(name, value) for name, value in answer.headers if name.lower() != b"content-length"]
            await exchange.send({"type": "http.response.start", "status": answer.status, "headers": headers})
            first = answer.file.read() if answer.file is not None else b""
            await exchange.send({"type": "http.response.body", "body": first, "more_body": True})

        await self._streams.hold(offer.taken, begin(), exchange.receive, exchange.send, exchange.connection)

    async def _websocket(self, exchange: Exchange) -> None:
        scope, send = exchange.scope, exchange.send
        if self._consoles is None:
            self._consoles = ConsoleRelay()
        await self._consoles.start()
        offer = ConsoleOffer(self._consoles)
        around = [partial(console_places_offered, offer)] if scope["path"] in CONSOLES else []
        answer = await self._served({**scope, "type": "http", "method": "GET"}, io.BytesIO(), around)
        await exchange.receive()  # that it has connected
        if offer.is_taken:
            await offer.go_on(await WebSocketEnd.accepted(scope["subprotocols"], exchange.receive, send))
            return
        await send({"type": "websocket.http.response.start", "status": answer.status, "headers": answer.headers})
        await send({"type": "websocket.http.response.body", "body": answer.body})


def _ended(poll: LongPoll) -> WebResponse | None:
    """The answer of a poll whose time is over, which takes no thread."""
    ended = long_poll_ended(poll)
    if ended is None:
        return None
    headers, text = ended
    return WebResponse(HTTPStatus.OK, [(name.encode(), value.encode()) for name, value in headers.items()], body=text)


def _path_of(raw: bytes) -> str:
    """As Django reads a path everywhere else: what is no UTF-8 stays quoted, and so differs from all that is."""
    return repercent_broken_unicode(unquote_to_bytes(raw)).decode()


def _address(scope: Scope) -> str:
    """Whose request it is, behind as many proxies as are trusted."""
    forwarded = b",".join(value for name, value in scope["headers"] if name == b"x-forwarded-for")
    remote = scope["client"][0] if scope["client"] else ""
    return address_of({"REMOTE_ADDR": remote, "HTTP_X_FORWARDED_FOR": forwarded.decode("latin1")})
