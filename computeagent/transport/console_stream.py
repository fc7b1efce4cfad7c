"""A console's way to the control plane: a WebSocket, opened outward through the same proxy and with the same trust."""

import ssl
from contextlib import suppress

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI
from websockets.protocol import State
from websockets.typing import Subprotocol

from computeagent.protocol.consoles import CONSOLE_HEADER, CONSOLE_PATH, MAX_MESSAGE_BYTES
from computeagent.protocol.wire import PROTOCOL_VERSION, VERSION_HEADER
from computeagent.transport.address import CONNECT_S, ControlPlaneAddress
from computeagent.transport.one_loop import OneLoop
from computeagent.transport.secret_file import SecretFile
from controlplane.kernel.errors import NotFound, Unavailable

_LOOP = OneLoop("consoles")
"""That of all consoles of this process. The library's threads read and write one TLS connection at the same time, which
OpenSSL does not allow: before Python 3.13 a request or a message is lost now and then.
"""


class WebSocketStream:
    """See `computeagent.agent.live_consoles.ConsoleStream`."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection

    @property
    def is_over(self) -> bool:
        """See ConsoleStream."""
        return self._connection.state is not State.OPEN

    def read(self) -> bytes:
        """See ConsoleStream."""
        try:
            data = _LOOP.done(self._connection.recv())
        except ConnectionClosed:
            return b""
        return data.encode() if isinstance(data, str) else data

    def write(self, data: bytes) -> None:
        """See ConsoleStream."""
        try:
            _LOOP.done(self._connection.send(data))
        except ConnectionClosed as error:
            raise ConnectionResetError(str(error)) from error

    def close(self) -> None:
        """See ConsoleStream."""
        with suppress(OSError):
            _LOOP.done(self._connection.close())


def console_dial(address: ControlPlaneAddress, secret: SecretFile, session_id: str) -> WebSocketStream:
    """Open the way of this session. Raises NotFound where nobody waits for it any more, Unavailable."""
    url = address.path_of(CONSOLE_PATH)
    headers = {
        "Authorization": f"Bearer {secret.read() or ''}",
        VERSION_HEADER: str(PROTOCOL_VERSION),
        CONSOLE_HEADER: session_id,
    }

    async def opened() -> ClientConnection:
        return await connect(
            "ws" + url.removeprefix("http"),
            additional_headers=headers,
            ssl=_trust(address) if url.startswith("https:") else None,
            subprotocols=[Subprotocol("binary")],
            compression=None,
            open_timeout=2 * CONNECT_S,
            close_timeout=1.0,
            max_size=MAX_MESSAGE_BYTES,
            proxy=address.proxy() or None,
        )

    try:
        connection = _LOOP.done(opened())
    except InvalidStatus as error:
        if error.response.status_code == 404:
            raise NotFound("nobody waits for it any more") from error
        raise Unavailable(f"the control plane opens no console: HTTP {error.response.status_code}") from error
    except (InvalidHandshake, InvalidURI, OSError, TimeoutError) as error:
        raise Unavailable(f"the control plane cannot be reached for a console: {error}") from error
    return WebSocketStream(connection)


def _trust(address: ControlPlaneAddress) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=address.ca_file or None)
    if address.cert_file:
        context.load_cert_chain(address.cert_file, address.key_file or None)
    return context
