"""The two kinds of ends of a console: a WebSocket of this process, and a way from another one."""

import asyncio
from contextlib import suppress
from typing import Protocol

from controlplane.launcher.web.incoming import Message, Receive, Send

READ_BYTES = 2**16
SUBPROTOCOL = "binary"
JOINED = "kilonova.joined"
"""The subprotocol of a browser that wants an empty message once the guest's host is there."""

LANGUAGE = "kilonova.language."
"""What a page offers as a subprotocol, too, followed by a language of the pages: in that one it is told why it ended.
Others are told in English, as all programs.
"""


class EndGone(Exception):
    """The other side closed, broke the protocol, or was silent for too long."""


class ConsoleEnd(Protocol):
    """A stream of bytes both ways. Used by the loop's thread alone."""

    async def read(self) -> bytes:
        """The next bytes. Raises EndGone."""

    async def write(self, data: bytes) -> None:
        """Returns once not much of it waits any more. Raises EndGone."""

    async def close(self, code: int, reason: str) -> None:
        """Say why, as far as that can be said, and let go."""


class BrowserEnd(ConsoleEnd, Protocol):
    """The end of whoever opened the session."""

    @property
    def language(self) -> str:
        """In which it is told why it ended; empty: in English."""

    async def joined(self) -> None:
        """Say that the guest's host is there, to one that asked for it. Raises EndGone."""


class WebSocketEnd:
    """A WebSocket that was accepted. The server pings it, and ends one that does not answer."""

    def __init__(self, receive: Receive, send: Send, *, wants_joined: bool = False, language: str = "") -> None:
        self._receive = receive
        self._send = send
        self._wants_joined = wants_joined
        self._language = language

    @classmethod
    async def accepted(cls, offered: list[str], receive: Receive, send: Send) -> "WebSocketEnd":
        """A viewer that names its token beside is answered with what it speaks."""
        accept: Message = {"type": "websocket.accept"}
        if SUBPROTOCOL in offered:
            accept["subprotocol"] = SUBPROTOCOL
        await send(accept)
        languages = [one.removeprefix(LANGUAGE) for one in offered if one.startswith(LANGUAGE)]
        return cls(receive, send, wants_joined=JOINED in offered, language=languages[0] if languages else "")

    @property
    def language(self) -> str:
        """See BrowserEnd."""
        return self._language

    async def joined(self) -> None:
        """See BrowserEnd."""
        if self._wants_joined:
            await self.write(b"")

    async def read(self) -> bytes:
        """See ConsoleEnd."""
        while True:
            message = await self._receive()
            if message["type"] != "websocket.receive":
                raise EndGone("it was closed")
            if data := message.get("bytes") or (message.get("text") or "").encode():
                return bytes(data)

    async def write(self, data: bytes) -> None:
        """See ConsoleEnd."""
        try:
            await self._send({"type": "websocket.send", "bytes": data})
        except (OSError, RuntimeError) as error:
            raise EndGone("it was closed") from error

    async def close(self, code: int, reason: str) -> None:
        """See ConsoleEnd."""
        said = reason.encode()[:120].decode(errors="ignore")
        with suppress(OSError, RuntimeError):
            await self._send({"type": "websocket.close", "code": code, "reason": said})


class RelayedEnd:
    """A host that came to another process, which hands its bytes on."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def read(self) -> bytes:
        """See ConsoleEnd."""
        try:
            data = await self._reader.read(READ_BYTES)
        except OSError as error:
            raise EndGone(str(error)) from error
        if not data:
            raise EndGone("it was closed")
        return data

    async def write(self, data: bytes) -> None:
        """See ConsoleEnd."""
        try:
            self._writer.write(data)
            await self._writer.drain()
        except (OSError, RuntimeError) as error:
            raise EndGone(str(error)) from error

    async def close(self, code: int, reason: str) -> None:
        """See ConsoleEnd. Bytes are all that passes here, so nothing is said."""
        self._writer.close()
