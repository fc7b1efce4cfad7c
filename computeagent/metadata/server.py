"""The server: one thread, one loop, one listening socket for each network."""

import asyncio
import socket
import struct
import time
from collections.abc import Collection, Coroutine
from functools import partial
from typing import Any

from computeagent.metadata.connection import serve
from computeagent.metadata.limits import GuestLimits
from computeagent.metadata.listening import Listening
from computeagent.metadata.responder import Responder
from computeagent.metadata.store import DocumentStore

WRITE_BUFFER_BYTES = 64 * 1024
CLOSE_S = 2.0
LINGER_NOT = struct.pack("ii", 1, 0)


class MetadataServer:
    """Answers guests from the store. Sockets come and go by `listen` and `leave`, from any thread."""

    def __init__(self, store: DocumentStore) -> None:
        self._store = store
        self._limits = GuestLimits(time.monotonic)
        self.responder = Responder(store, self._limits)
        self._loop = asyncio.new_event_loop()
        self._servers: dict[str, asyncio.Server] = {}
        self._namespaces: dict[str, int] = {}

    def run(self) -> None:
        """The body of its thread, until `stop`."""
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.run_until_complete(self._end())
            self._loop.close()

    def stop(self) -> None:
        """End; guests that are being answered are cut off, and ask again."""
        self._loop.call_soon_threadsafe(self._loop.stop)

    def namespaces(self) -> dict[str, int]:
        """Networks that are listened in, and the number of the namespace of each."""
        return dict(self._namespaces)

    def listen(self, network_id: str, listening: Listening) -> None:
        """MetadataAnswer the guests of this network by this socket, in place of any other."""
        self._await(self._listen(network_id, listening))

    def leave(self, networks: Collection[str]) -> None:
        """Listen there no longer."""
        for network_id in networks:
            self._await(self._leave(network_id))

    async def _end(self) -> None:
        for network_id in list(self._servers):
            await self._leave(network_id)
        answering = asyncio.all_tasks() - {asyncio.current_task()}
        for task in answering:
            task.cancel()
        await asyncio.gather(*answering, return_exceptions=True)

    def _await(self, coroutine: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(timeout=CLOSE_S)

    async def _listen(self, network_id: str, listening: Listening) -> None:
        await self._leave(network_id)
        serving = partial(self._serve, network_id)
        self._servers[network_id] = await asyncio.start_server(serving, sock=listening.socket)
        self._namespaces[network_id] = listening.namespace

    async def _leave(self, network_id: str) -> None:
        self._namespaces.pop(network_id, None)
        server = self._servers.pop(network_id, None)
        if server is not None:
            server.close()

    async def _serve(self, network_id: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = writer.get_extra_info("peername")
        address = str(peer[0]) if peer else ""
        guest = (network_id, address if self._store.of_address(network_id, address) else "")
        if not self._limits.connect(guest):
            writer.transport.abort()
            return
        try:
            writer.transport.set_write_buffer_limits(high=WRITE_BUFFER_BYTES)
            await serve(reader, writer, partial(self.responder.respond, network_id, address))
        finally:
            self._limits.disconnect(guest)
            if writer.transport.get_write_buffer_size():  # it does not read: neither we nor the kernel wait for it
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_NOT)
                writer.transport.abort()
            else:
                writer.close()
