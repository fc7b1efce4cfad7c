"""`/agent/v1/wakeups` on an event loop: a poll that waits holds neither a thread nor a database connection.

Who asks is looked up in the pool of threads that serve all other requests. What follows is waiting for the process's
one hub, until a wake-up comes, the time is over, or the agent hangs up.
"""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from concurrent.futures import Executor
from typing import Any

from django.utils.datastructures import CaseInsensitiveMapping

from computeagent.protocol.wire import PREFIX, PROTOCOL_VERSION, VERSION_HEADER, encode, verbs
from controlplane.infra.api.errors import kernel_body, status_of
from controlplane.kernel.errors import Invalid, KilonovaError, TooLarge
from controlplane.kernel.ids import is_request_id, new_request_id
from controlplane.kernel.request_scope import REQUEST_ID_HEADER, request_id_scope
from servers.agent_api import OwnConnections, database_reached
from servers.agent_door.asker import asker_of, require_host, require_version
from servers.agent_door.wakeups import MAX_WAIT_S, agent_wakeups, wakeups_of_host

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

PATH = f"{PREFIX}wakeups"
MAX_BODY_BYTES = 4096
HUNG_UP = "http.disconnect"


async def long_poll(scope: Scope, receive: Receive, send: Send, *, threads: Executor) -> None:
    """Answer one poll."""
    texts = ((name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"])
    headers = CaseInsensitiveMapping(texts)
    offered = headers.get(REQUEST_ID_HEADER, "")
    request_id = offered if is_request_id(offered) else new_request_id()
    with request_id_scope(request_id):
        try:
            status, answer = 200, await _answer(scope, headers, receive, threads)
        except KilonovaError as error:
            status, answer = status_of(error), encode(kernel_body(error))
    if answer is not None:
        await _send(send, status, answer, request_id)


async def _answer(
    scope: Scope, headers: CaseInsensitiveMapping[str], receive: Receive, threads: Executor
) -> bytes | None:
    """The body of the answer; None when the agent hung up."""
    if scope["method"] != "POST":
        raise Invalid("Agents ask by POST.")
    require_version(headers)
    arguments = verbs()["wakeups"].arguments_of(await _body(receive))
    asker = await asyncio.get_running_loop().run_in_executor(threads, _asker_now, headers)
    require_host(asker, arguments["host"], "wakeups")
    wakeups: asyncio.Future[Any] = asyncio.wrap_future(wakeups_of_host(asker.host))
    hangs_up: asyncio.Future[Any] = asyncio.ensure_future(_hung_up(receive))
    timeout_s = max(0.0, min(arguments["timeout_s"], MAX_WAIT_S))
    try:
        await asyncio.wait({wakeups, hangs_up}, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        if wakeups.done():
            return encode(agent_wakeups(wakeups.result()))
        return None if hangs_up.done() else encode([])
    finally:
        wakeups.cancel()
        hangs_up.cancel()


def _asker_now(headers: CaseInsensitiveMapping[str]) -> Any:
    with database_reached(OwnConnections()):
        return asker_of(headers)


async def _body(receive: Receive) -> bytes:
    body, has_more = b"", True
    while has_more:
        message = await receive()
        body += message.get("body", b"")
        has_more = message.get("more_body", False)
        if len(body) > MAX_BODY_BYTES:
            raise TooLarge(f"The body is larger than {MAX_BODY_BYTES} bytes.")
    return body


async def _hung_up(receive: Receive) -> None:
    while (await receive())["type"] != HUNG_UP:
        pass


async def _send(send: Send, status: int, body: bytes, request_id: str) -> None:
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (VERSION_HEADER.lower().encode(), str(PROTOCOL_VERSION).encode()),
        (REQUEST_ID_HEADER.lower().encode(), request_id.encode()),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
