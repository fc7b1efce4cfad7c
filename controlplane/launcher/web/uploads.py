"""Uploads: requests whose body is read while they are served, in threads that serve nothing else."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from controlplane.kernel.errors import KilonovaError
from controlplane.launcher.web.incoming import Arriving, ClientGone

F = TypeVar("F", bound=Callable[..., object])
READ_BYTES = 2**20


class UploadedBody:
    """A body as a file for the thread that reads it. What is cut off, or comes too slowly, is an OSError."""

    def __init__(self, arriving: Arriving, loop: asyncio.AbstractEventLoop) -> None:
        self._arriving = arriving
        self._loop = loop
        self._ahead = b""

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes; all of them where it is negative; none at the end. Raises OSError."""
        wanted = READ_BYTES if size < 0 else size
        pieces = [self._ahead]
        have = len(self._ahead)
        while have < wanted or size < 0:
            come = asyncio.run_coroutine_threadsafe(self._come(max(wanted - have, READ_BYTES)), self._loop).result()
            if not come:
                break
            pieces.append(come)
            have += len(come)
        data = b"".join(pieces)
        if size < 0:
            self._ahead = b""
            return data
        self._ahead = data[size:]
        return data[:size]

    def close(self) -> None:
        """Nothing is held."""

    async def _come(self, size: int) -> bytes:
        pieces: list[bytes] = []
        have = 0
        try:
            while have < size and (piece := await self._arriving.next()):
                pieces.append(piece)
                have += len(piece)
        except ClientGone:
            raise OSError("the sender went away") from None
        except KilonovaError as error:
            raise OSError(error.message) from None
        return b"".join(pieces)
