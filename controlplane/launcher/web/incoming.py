"""Bodies of requests, taken whole before anybody looks at them: in memory while they are small, then in a file.

A body that is larger than its route allows, or that comes too slowly, ends here, before a thread is taken and before
anybody is looked up. Files are bounded in all: what finds no room is asked to come again.
"""

import asyncio
import io
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import IO, Any

from controlplane.infra.conf import web_options
from controlplane.kernel.errors import Invalid, Throttled, TooLarge

Scope = dict[str, Any]
Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

IN_MEMORY_BYTES = 64 * 2**10
GRACE_S = 20.0
"""So long a body may come as slowly as it likes. Each byte of the least rate after that buys more time."""
ASK_AGAIN_S = 5


class ClientGone(Exception):
    """Nobody is there any more to be answered."""


class BodyTooSlow(Invalid):
    """It came more slowly than the least rate, or not at all."""

    code = "body_too_slow"


class Arriving:
    """What comes of one body, no slower than the least rate. Used by the loop's thread alone."""

    def __init__(self, receive: Receive, grace_s: float = GRACE_S) -> None:
        self._receive = receive
        self._grace_s = grace_s
        self._waited_s = 0.0
        self.received = 0
        self.is_over = False

    async def next(self) -> bytes:
        """The next bytes; none at the end. Raises ClientGone, BodyTooSlow."""
        while not self.is_over:
            message = await self._received_in_time()
            if message["type"] == "http.disconnect":
                raise ClientGone
            data: bytes = message.get("body", b"")
            self.received += len(data)
            self.is_over = not message.get("more_body", False)
            if data:
                return data
        return b""

    async def _received_in_time(self) -> Message:
        # Only waiting counts: a client is not slow while the server does something else with what it sent.
        clock = asyncio.get_running_loop().time
        began, may_wait_s = clock(), self._grace_s + self.received / web_options().web_body_min_bytes_s
        try:
            async with asyncio.timeout(may_wait_s - self._waited_s):
                return await self._receive()
        except TimeoutError:
            raise BodyTooSlow(f"The body came too slowly: {self.received} bytes in {may_wait_s:.0f} seconds.") from None
        finally:
            self._waited_s += clock() - began


class Spools:
    """The files of one process that bodies are in. Used by the loop's thread alone."""

    def __init__(self) -> None:
        self._held: Counter[str] = Counter()

    async def whole(self, arriving: Arriving, *, whose: str, limit: int, announced: int | None) -> "Body":
        """The body, once all of it is here. Raises TooLarge, Throttled, BodyTooSlow, ClientGone."""
        if announced is not None and announced > limit:
            raise too_large(limit)
        body = Body(self, whose)
        try:
            while data := await arriving.next():
                if arriving.received > limit:
                    raise too_large(limit)
                body.take(data)
        except BaseException:
            body.close()
            raise
        body.begin_to_be_read()
        return body

    def hold(self, whose: str, size_bytes: int) -> None:
        """Raises Throttled where files take all the room that they may, or those of one address more than half."""
        maximum = web_options().web_bodies_max_mib * 2**20
        if self._held.total() + size_bytes > maximum or self._held[whose] + size_bytes > maximum // 2:
            raise Throttled("This server holds as many large bodies as it may. Ask again.", wait_s=ASK_AGAIN_S)
        self._held[whose] += size_bytes

    def give_back(self, whose: str, size_bytes: int) -> None:
        """What was held."""
        self._held[whose] -= size_bytes
        if not self._held[whose]:
            del self._held[whose]


class Body:
    """One body: written by the loop, then read by the thread that serves its request, then closed by the loop."""

    def __init__(self, spools: Spools, whose: str) -> None:
        self._spools = spools
        self._whose = whose
        self._in_file = 0
        self.size = 0
        self.file: IO[bytes] = io.BytesIO()

    def take(self, data: bytes) -> None:
        """More of it. Raises Throttled."""
        self.size += len(data)
        if self.size > IN_MEMORY_BYTES:
            self._spools.hold(self._whose, self.size - self._in_file)
            is_first, self._in_file = not self._in_file, self.size
            if is_first:
                begun = self.file
                self.file = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the body
                begun.seek(0)
                self.file.write(begun.read())
        self.file.write(data)

    def begin_to_be_read(self) -> None:
        """All of it is here."""
        self.file.seek(0)

    def close(self) -> None:
        """Let go of it. Once."""
        self.file.close()
        self._spools.give_back(self._whose, self._in_file)
        self._in_file = 0


def too_large(limit: int) -> TooLarge:
    """Of a body that its route does not take."""
    return TooLarge(f"The body is larger than {limit} bytes.", limit=limit)
