"""An event loop for threads that wait for what is done in it."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class OneLoop:
    """Runs in a thread of its own from the first use on, and as long as the process."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def done(self, what: Coroutine[Any, Any, T]) -> T:
        """Its result. Raises what it raises. For any thread but the loop's own."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name=self._name, daemon=True).start()
        return asyncio.run_coroutine_threadsafe(what, self._loop).result()
