"""One connection of a guest: requests are read, judged and answered one after the other, each within its time.

Guests are hostile. Nothing that a request says of who asks is believed; what is too long, too slow or not HTTP ends the
connection.
"""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus

import h11

from computeagent.metadata.answers import MetadataAnswer

MAX_HEAD_BYTES = 16 * 1024
MAX_BODY_BYTES = 64 * 1024
"""What is read at all; how long a body may be is for who answers."""
READ_BYTES = 16 * 1024
REQUEST_S = 15.0
"""From the end of the last answer to the end of the request."""
SEND_S = 30.0
MAX_REQUESTS = 200


@dataclass(frozen=True, slots=True)
class Request:
    """What a guest asks. `path` is decoded as little as Nova does: not at all."""

    method: str
    path: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Response:
    """What it gets."""

    status: HTTPStatus
    answer: MetadataAnswer = field(default_factory=lambda: MetadataAnswer(b""))
    headers: tuple[tuple[str, str], ...] = ()


Responder = Callable[[Request], Response]


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, respond: Responder) -> None:
    """Until the guest closes, breaks a rule, or has asked often enough."""
    guest = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD_BYTES)
    with contextlib.suppress(TimeoutError, OSError, h11.LocalProtocolError):
        for _ in range(MAX_REQUESTS):
            try:
                request = await asyncio.wait_for(_request(guest, reader), REQUEST_S)
            except h11.RemoteProtocolError as error:
                await _send(guest, writer, Response(HTTPStatus(error.error_status_hint)), is_last=True)
                return
            if request is None:
                return
            await _send(guest, writer, respond(request), is_head=request.method == "HEAD")
            if guest.our_state is not h11.DONE or guest.their_state is not h11.DONE:
                return
            guest.start_next_cycle()


async def _request(guest: h11.Connection, reader: asyncio.StreamReader) -> Request | None:
    """None: it closed instead."""
    head: h11.Request | None = None
    body = bytearray()
    while True:
        event = guest.next_event()
        if event is h11.NEED_DATA:
            if guest.they_are_waiting_for_100_continue:
                raise h11.RemoteProtocolError("Expect is not served", error_status_hint=417)
            guest.receive_data(await reader.read(READ_BYTES))
        elif isinstance(event, h11.Request):
            head = event
        elif isinstance(event, h11.Data):
            body += event.data
            if len(body) > MAX_BODY_BYTES:
                raise h11.RemoteProtocolError("the body is too long", error_status_hint=413)
        elif isinstance(event, h11.EndOfMessage) and head is not None:
            path, _, _ = head.target.decode("ascii", "replace").partition("?")
            return Request(head.method.decode("ascii", "replace"), path, bytes(body))
        else:
            return None


async def _send(
    guest: h11.Connection,
    writer: asyncio.StreamWriter,
    response: Response,
    *,
    is_head: bool = False,
    is_last: bool = False,
) -> None:
    content = response.answer.content
    headers = [
        ("Content-Length", str(len(content))),
        ("Content-Type", response.answer.content_type),
        *response.headers,
        *([("Connection", "close")] if is_last else []),
    ]
    reason = response.status.phrase
    head = guest.send(h11.Response(status_code=response.status, reason=reason.encode(), headers=headers))
    body = b"" if is_head else guest.send(h11.Data(data=content))
    writer.write(b"".join(part for part in (head, body, guest.send(h11.EndOfMessage())) if part))
    await asyncio.wait_for(writer.drain(), SEND_S)
