"""The two ends of a console at the relay: the host that is there first, and the viewer that is cut off."""

import asyncio
import uuid

import pytest

from controlplane.launcher.web.console_relay import ConsoleRelay
from servers.consoles.places import OpenedConsole
from tests.fixtures.console_pipes import PipeEnd
from tests.fixtures.patience import PATIENCE_S


async def _early_host() -> None:
    relay = ConsoleRelay()
    await relay.start()
    session = OpenedConsole(uuid.uuid4(), "h1", relay.holder, is_read_only=False)
    host, browser = PipeEnd(), PipeEnd()
    ends = [asyncio.create_task(relay.host(host, session))]
    host.comes(b"hi")
    ends.append(asyncio.create_task(relay.browser(browser, session)))
    assert await browser.went.get() == b"hi"
    relay.close()
    assert await browser.closed == 1001
    assert await host.closed == 1000
    await asyncio.gather(*ends)


async def _unknown_words() -> None:
    relay = ConsoleRelay()
    await relay.start()
    session = OpenedConsole(uuid.uuid4(), "h1", relay.holder, is_read_only=True)
    host, browser = PipeEnd(), PipeEnd()
    ends = [asyncio.create_task(relay.host(host, session)), asyncio.create_task(relay.browser(browser, session))]
    browser.comes(b"RFB 003.008\n\x01\x01")
    assert await host.went.get() == b"RFB 003.008\n\x01\x01"
    browser.comes(b"\x63")
    assert await browser.closed == 4001  # refused: the page does not come again, and says why
    await asyncio.gather(*ends)


@pytest.mark.django_db(transaction=True)
def test_viewer_that_is_cut_off_is_told_so() -> None:
    asyncio.run(asyncio.wait_for(_unknown_words(), PATIENCE_S))


@pytest.mark.django_db(transaction=True)
def test_host_that_is_quicker_than_the_browser_is_waited_with() -> None:
    asyncio.run(asyncio.wait_for(_early_host(), PATIENCE_S))
