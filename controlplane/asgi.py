"""The ASGI application: long polls wait on the event loop, all else is Django's WSGI side in a fixed pool of threads.

So a request costs what it costs under a threaded server, with a database connection kept by each thread, and a
thousand agents that wait cost no thread at all.
"""

import os
from typing import Any

from a2wsgi import WSGIMiddleware

from controlplane.wsgi import application as wsgi_application
from servers.agent_door.long_poll import PATH, Receive, Scope, Send, long_poll

THREADS = int(os.environ.get("WEB_THREADS", "8"))
_django: Any = wsgi_application
_wsgi: Any = WSGIMiddleware(_django, workers=THREADS)


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """Whoever asks for what."""
    if scope["type"] == "lifespan":
        await _live(receive, send)
    elif scope["type"] == "http" and scope["path"] == PATH:
        await long_poll(scope, receive, send, threads=_wsgi.executor)
    else:
        await _wsgi(scope, receive, send)


async def _live(receive: Receive, send: Send) -> None:
    while (message := await receive())["type"] != "lifespan.shutdown":
        if message["type"] == "lifespan.startup":
            await send({"type": "lifespan.startup.complete"})
    await send({"type": "lifespan.shutdown.complete"})
