"""Bodies: whole before anybody looks at them, in memory or in a file, no larger and no slower than they may be."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from controlplane.kernel.errors import KilonovaError, Throttled, TooLarge
from controlplane.launcher.web.incoming import IN_MEMORY_BYTES, Arriving, BodyTooSlow, ClientGone, Message, Spools
from controlplane.launcher.web.uploads import UploadedBody

MIB = 2**20


def sender(*pieces: bytes, stalls: bool = False, leaves: bool = False) -> Any:
    """What a client sends, as ASGI has it."""
    left = list(pieces)

    async def receive() -> Message:
        if left:
            piece = left.pop(0)
            return {"type": "http.request", "body": piece, "more_body": bool(left) or stalls or leaves}
        if leaves:
            return {"type": "http.disconnect"}
        await asyncio.Event().wait()
        raise AssertionError

    return receive


def taken(receive: Any, *, limit: int = 10 * MIB, announced: int | None = None, spools: Spools | None = None) -> Any:
    async def take() -> Any:
        arriving = Arriving(receive, grace_s=0.05)
        return await (spools or Spools()).whole(arriving, whose="10.0.0.1", limit=limit, announced=announced)

    return asyncio.run(take())


@pytest.mark.parametrize("size", [0, 1, IN_MEMORY_BYTES, IN_MEMORY_BYTES + 1, 3 * MIB])
def test_body_is_read_as_it_was_sent(size: int) -> None:
    data = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    body = taken(sender(*(data[at : at + 50_000] for at in range(0, max(size, 1), 50_000))))
    assert body.file.read() == data
    assert hasattr(body.file, "getbuffer") is (size <= IN_MEMORY_BYTES)
    body.close()


def test_body_that_says_that_it_is_too_large_is_not_read() -> None:
    with pytest.raises(TooLarge):
        taken(sender(stalls=True), limit=1000, announced=1001)


def test_body_that_becomes_too_large_is_read_no_further() -> None:
    with pytest.raises(TooLarge):
        taken(sender(b"x" * 900, b"x" * 200, stalls=True), limit=1000)


@pytest.mark.parametrize("pieces", [(), (b"x",), (b"x" * 100_000,)], ids=["nothing", "a byte", "in a file"])
def test_body_that_stalls_is_given_up(pieces: tuple[bytes, ...], settings: Any) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "WEB_BODY_MIN_BYTES_S": 10 * MIB}
    spools = Spools()
    with pytest.raises(BodyTooSlow, match=f"{sum(map(len, pieces))} bytes in 0 seconds"):
        taken(sender(*pieces, stalls=True), spools=spools)
    settings.KILONOVA = {**settings.KILONOVA, "WEB_BODIES_MAX_MIB": 32}
    taken(sender(b"x" * (10 * MIB)), spools=spools)  # what was held was given back


def test_sender_that_leaves_is_not_answered() -> None:
    with pytest.raises(ClientGone):
        taken(sender(b"x", leaves=True))


def test_files_are_bounded_for_one_address_and_in_all(settings: Any) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "WEB_BODIES_MAX_MIB": 32}

    async def take(spools: Spools, whose: str) -> Any:
        return await spools.whole(Arriving(sender(b"x" * (8 * MIB))), whose=whose, limit=10 * MIB, announced=None)

    async def run() -> None:
        spools = Spools()
        mine = [await take(spools, "10.0.0.1") for _ in range(2)]
        with pytest.raises(Throttled):
            await take(spools, "10.0.0.1")
        await take(spools, "10.0.0.2")
        await take(spools, "10.0.0.3")
        with pytest.raises(Throttled):
            await take(spools, "10.0.0.4")
        mine[0].close()
        await take(spools, "10.0.0.4")

    asyncio.run(run())


def _uploaded(receive: Any, read: Any) -> Any:
    """What a thread reads of an upload."""

    async def run() -> Any:
        loop = asyncio.get_running_loop()
        stream = UploadedBody(Arriving(receive, grace_s=0.05), loop)
        with ThreadPoolExecutor(1) as threads:
            return await loop.run_in_executor(threads, read, stream)

    return asyncio.run(run())


def test_upload_is_read_in_pieces_of_the_size_that_is_asked_for() -> None:
    def read(stream: UploadedBody) -> list[int]:
        assert threading.current_thread() is not threading.main_thread()
        return [len(stream.read(MIB)) for _ in range(4)]

    assert _uploaded(sender(*[b"x" * 100_000] * 25), read) == [MIB, MIB, 2_500_000 - 2 * MIB, 0]


def test_rest_of_an_upload_is_read_at_once() -> None:
    assert _uploaded(sender(b"ab", b"cd", b"ef"), lambda stream: (stream.read(1), stream.read())) == (b"a", b"bcdef")


@pytest.mark.parametrize(("how", "why"), [({"leaves": True}, "went away"), ({"stalls": True}, "too slowly")])
def test_upload_that_does_not_come_to_its_end_is_an_error_of_reading(how: dict[str, bool], why: str) -> None:
    with pytest.raises(OSError, match=why):
        _uploaded(sender(b"x" * 10, **how), lambda stream: stream.read(MIB))


def test_errors_are_those_that_doors_know() -> None:
    assert issubclass(BodyTooSlow, KilonovaError)
