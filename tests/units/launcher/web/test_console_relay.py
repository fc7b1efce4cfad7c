"""The relay between web processes: bytes of a host that came to the wrong one, and who may knock."""

import asyncio
import secrets
import time
import uuid
from typing import Any

import pytest

from controlplane.launcher.web.console_relay import ConsoleRelay, preface, preface_read
from servers.consoles.places import OpenedConsole
from tests.fixtures.console_pipes import PipeEnd
from tests.fixtures.patience import PATIENCE_S


async def _handed_on() -> None:
    name = f"kilonova-test-{secrets.token_hex(4)}"
    arrived: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
    holder = await asyncio.start_unix_server(lambda *both: arrived.put_nowait(both), f"\0{name}")
    session = OpenedConsole(uuid.uuid4(), "h1", f"unix:{name}", is_read_only=False)
    host, relay = PipeEnd(), ConsoleRelay()
    await relay.start()
    going = asyncio.create_task(relay.host(host, session))
    reader, writer = await arrived.get()
    assert preface_read(await reader.readline(), session.holder) == session.session_id
    host.comes(b"from the host")
    assert await reader.readexactly(13) == b"from the host"
    writer.write(b"to the host")
    assert await host.went.get() == b"to the host"
    writer.close()
    assert await host.closed == 1000
    await going
    holder.close()


async def _nobody_there() -> None:
    host, relay = PipeEnd(), ConsoleRelay()
    await relay.start()
    session = OpenedConsole(uuid.uuid4(), "h1", f"unix:{secrets.token_hex(8)}", is_read_only=False)
    await relay.host(host, session)
    assert await host.closed == 4002


def test_bytes_are_handed_on_for_as_long_as_both_are_there() -> None:
    asyncio.run(asyncio.wait_for(_handed_on(), PATIENCE_S))


def test_host_hears_where_the_holder_of_its_session_is_gone() -> None:
    asyncio.run(asyncio.wait_for(_nobody_there(), PATIENCE_S))


@pytest.mark.parametrize("spoilt", [b"", b"\xff\xfe\n", b"a b c\n", b"a b\n"])
def test_what_is_no_preface_names_nothing(spoilt: bytes) -> None:
    assert preface_read(spoilt, "unix:here") is None


def test_preface_is_for_one_process_and_for_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    session = uuid.uuid4()
    line = preface(session, "unix:here")
    assert preface_read(line, "unix:here") == session
    assert preface_read(line, "unix:there") is None
    assert preface_read(line.replace(str(session).encode(), str(uuid.uuid4()).encode()), "unix:here") is None
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 60)
    assert preface_read(line, "unix:here") is None


def test_preface_of_a_process_with_another_first_key_is_read(settings: Any) -> None:
    session, old, new = uuid.uuid4(), settings.SECRET_KEY, "new-" * 20
    settings.SECRET_KEY_FALLBACKS = [new]
    by_the_old = preface(session, "unix:here")
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = new, [old]
    by_the_new = preface(session, "unix:here")
    assert preface_read(by_the_old, "unix:here") == session
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = old, [new]
    assert preface_read(by_the_new, "unix:here") == session
    settings.SECRET_KEY_FALLBACKS = []
    assert preface_read(by_the_new, "unix:here") is None
