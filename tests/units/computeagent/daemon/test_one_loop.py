"""The loop that the consoles of an agent share."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from computeagent.transport.one_loop import OneLoop


async def where() -> tuple[int, int]:
    return id(asyncio.get_running_loop()), threading.get_ident()


def test_threads_that_come_at_once_share_one_loop_in_one_thread() -> None:
    loop, begin = OneLoop("consoles"), threading.Barrier(8)

    def ask() -> tuple[int, int]:
        begin.wait()
        return loop.done(where())

    with ThreadPoolExecutor(8) as threads:
        found = {future.result() for future in [threads.submit(ask) for _ in range(8)]}
    assert len(found) == 1
    assert [thread.name for thread in threading.enumerate() if thread.ident in {each for _, each in found}] == [
        "consoles"
    ]


def test_what_is_raised_in_the_loop_is_raised_to_who_waits() -> None:
    async def fails() -> None:
        raise ConnectionResetError("gone")

    with pytest.raises(ConnectionResetError, match="gone"):
        OneLoop("consoles").done(fails())
