"""One end of a console as a stream of bytes over a WebSocket whose request a view has judged already."""

import asyncio
import socket
from collections.abc import Mapping, Sequence

from websockets.datastructures import Headers
from websockets.exceptions import InvalidState, ProtocolError
from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.protocol import Protocol, Side, State
from websockets.server import ServerProtocol
from websockets.typing import Subprotocol

from computeagent.protocol.consoles import MAX_MESSAGE_BYTES

READ_BYTES = 2**16
PING_EVERY_S = 20.0
SILENT_S = 60.0
"""An end that has not even answered pings for so long is gone."""
SUBPROTOCOL = Subprotocol("binary")
_DATA = {Opcode.BINARY, Opcode.TEXT, Opcode.CONT}


class EndGone(Exception):
    """The other side closed, broke the protocol, or was silent for too long."""


def upgrade_answer(path: str, headers: Mapping[str, str]) -> tuple[bytes, bool]:
    """What the server says to a request for a WebSocket, and whether that opens one."""
    server = ServerProtocol(subprotocols=[SUBPROTOCOL], select_subprotocol=_select)
    response = server.accept(Request(path, Headers(headers)))
    server.send_response(response)
    return b"".join(server.data_to_send()), response.status_code == 101


def _select(_server: ServerProtocol, offered: Sequence[Subprotocol]) -> Subprotocol | None:
    """A viewer that names its token beside is answered with what it speaks."""
    return SUBPROTOCOL if SUBPROTOCOL in offered else None


class SocketEnd:
    """Used by the relay's loop alone."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, begun: bytes = b"") -> None:
        self._reader = reader
        self._writer = writer
        self._protocol = Protocol(Side.SERVER, max_size=MAX_MESSAGE_BYTES)
        self._received_at = asyncio.get_running_loop().time()
        if begun:
            self._protocol.receive_data(begun)

    @classmethod
    async def of_socket(cls, sock: socket.socket, begun: bytes = b"") -> "SocketEnd":
        """Of a connected socket, whose first bytes were read already."""
        sock.setblocking(False)
        reader, writer = await asyncio.open_connection(sock=sock, limit=2 * READ_BYTES)
        return cls(reader, writer, begun)

    async def read(self) -> bytes:
        """The next bytes of the stream. Raises EndGone."""
        while True:
            data = b"".join(
                bytes(event.data)
                for event in self._protocol.events_received()
                if isinstance(event, Frame) and event.opcode in _DATA
            )
            await self._flush()
            if data:
                return data
            if self._protocol.state is not State.OPEN:
                raise EndGone("it was closed")
            try:
                received = await self._reader.read(READ_BYTES)
            except OSError as error:
                raise EndGone(str(error)) from error
            self._received_at = asyncio.get_running_loop().time()
            if received:
                self._protocol.receive_data(received)
            else:
                self._protocol.receive_eof()

    async def write(self, data: bytes) -> None:
        """Returns once not much of it waits any more. Raises EndGone."""
        try:
            self._protocol.send_binary(data)
        except (InvalidState, ProtocolError) as error:
            raise EndGone("it was closed") from error
        await self._flush()

    async def keep_alive(self) -> None:
        """Ping now and then. Raises EndGone once nothing came for too long."""
        while True:
            await asyncio.sleep(PING_EVERY_S)
            if asyncio.get_running_loop().time() - self._received_at > SILENT_S:
                raise EndGone("it is silent")
            self._protocol.send_ping(b"")
            await self._flush()

    async def close(self, code: int, reason: str) -> None:
        """Say why, as far as that can be said, and let go."""
        try:
            if self._protocol.state is State.OPEN:
                self._protocol.send_close(code, reason.encode()[:120].decode(errors="ignore"))
                await asyncio.wait_for(self._flush(), 2.0)
        except (EndGone, TimeoutError, InvalidState):
            pass
        self._writer.close()

    async def _flush(self) -> None:
        try:
            for data in self._protocol.data_to_send():
                if data:
                    self._writer.write(data)
                elif self._writer.can_write_eof():
                    self._writer.write_eof()
            await self._writer.drain()
        except (OSError, RuntimeError) as error:
            raise EndGone(str(error)) from error
