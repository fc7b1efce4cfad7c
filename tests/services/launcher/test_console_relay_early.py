"""The two ends of a console at the relay: the host that is there first, and why the browser's end is closed."""

import asyncio
import uuid

import pytest
from django.db.models.functions import Now

from computeagent.protocol.consoles import ConsoleKind
from controlplane.launcher.web.console_relay import ConsoleRelay
from servers.consoles.places import OpenedConsole
from servers.consoles.services import console_session_connect, console_session_create, console_session_open
from servers.models import ConsoleSession
from tests.fixtures.console_pipes import PipeEnd
from tests.fixtures.patience import PATIENCE_S
from tests.worlds.cloud import active, cloud


async def _early_host() -> None:
    relay = ConsoleRelay()
    await relay.start()
    session = OpenedConsole(uuid.uuid4(), "h1", relay.holder, is_read_only=False)
    host, browser = PipeEnd(), PipeEnd()
    ends = [asyncio.create_task(relay.host(host, session))]
    host.comes(b"hi")
    ends.append(asyncio.create_task(relay.browser(browser, session)))
    assert [await browser.went.get(), await browser.went.get()] == [b"", b"hi"]
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
    relay.close()


@pytest.mark.django_db(transaction=True)
def test_viewer_that_is_cut_off_is_told_so() -> None:
    asyncio.run(asyncio.wait_for(_unknown_words(), PATIENCE_S))


@pytest.mark.django_db(transaction=True)
def test_host_that_is_quicker_than_the_browser_is_waited_with() -> None:
    asyncio.run(asyncio.wait_for(_early_host(), PATIENCE_S))


async def _without_a_host() -> int:
    relay = ConsoleRelay()
    await relay.start()
    session, browser = OpenedConsole(uuid.uuid4(), "h1", relay.holder, is_read_only=False), PipeEnd()

    async def restart() -> None:
        relay.close()

    await asyncio.gather(relay.browser(browser, session), restart())  # begun one after the other
    return await browser.closed


@pytest.mark.django_db(transaction=True)
def test_browser_that_waits_for_a_host_comes_again_to_another_process() -> None:
    assert asyncio.run(asyncio.wait_for(_without_a_host(), PATIENCE_S)) == 1001


async def _host_leaves(session_id: uuid.UUID, *, while_typing: bool) -> int:
    relay = ConsoleRelay()
    await relay.start()
    session = OpenedConsole(session_id, "h1", relay.holder, is_read_only=False)
    host, browser = PipeEnd(), PipeEnd()
    ends = [asyncio.create_task(relay.host(host, session)), asyncio.create_task(relay.browser(browser, session))]
    assert await browser.went.get() == b""
    if while_typing:
        host.is_deaf = True
        browser.comes(b"ls\r")
    else:
        host.comes(b"")
    await asyncio.gather(*ends)
    relay.close()
    return await browser.closed


async def _early_hosts() -> list[int]:
    """Three hosts that are early, two of them of one session, at a relay that ends once a browser took one."""
    relay = ConsoleRelay()
    await relay.start()
    taken, left = (OpenedConsole(uuid.uuid4(), "h1", relay.holder, is_read_only=False) for _ in range(2))
    hosts = [PipeEnd(), PipeEnd(), PipeEnd()]
    ends = [
        asyncio.create_task(relay.host(one, of)) for one, of in zip(hosts, (taken, taken, left), strict=True)
    ]  # begun one after the other
    browser = PipeEnd()
    ends.append(asyncio.create_task(relay.browser(browser, taken)))
    assert await browser.went.get() == b""
    hosts[1].comes(b"of the second")
    assert await browser.went.get() == b"of the second"
    relay.close()
    await asyncio.gather(*ends)
    return [await one.closed for one in hosts]


@pytest.mark.django_db(transaction=True)
def test_host_that_no_browser_takes_is_let_go_of() -> None:
    assert asyncio.run(asyncio.wait_for(_early_hosts(), PATIENCE_S)) == [4002, 1000, 4002]


def two_serial_sessions() -> tuple[ConsoleSession, ConsoleSession]:
    """Two of one guest, whose host has not come yet."""
    member = cloud("h1").member
    instance, found = active(member), []
    for _ in range(2):
        access = console_session_create(caller=member, instance_id=instance.pk, kind=ConsoleKind.SERIAL)
        console_session_open(token=access.token, holder="unix:here", client_address=None)
        found.append(access.session)
    return found[0], found[1]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("while_typing", [False, True])
def test_who_lost_the_serial_port_is_told_so_and_who_lost_the_host_comes_again(while_typing: bool) -> None:
    first, second = two_serial_sessions()
    for session in (first, second):
        console_session_connect(host=session.host, session_id=session.pk)
    closings = [
        asyncio.run(asyncio.wait_for(_host_leaves(one.pk, while_typing=while_typing), PATIENCE_S))
        for one in (first, second)
    ]
    assert closings == [4003, 4002]
    assert list(
        ConsoleSession.objects.filter(pk__in=[first.pk, second.pk])
        .order_by("connected_at")
        .values_list("ended_because", flat=True)
    ) == ["Another console took the serial port.", "The guest's side ended."]


async def _ended_in(session_id: uuid.UUID, language: str) -> str:
    relay = ConsoleRelay()
    await relay.start()
    session = OpenedConsole(session_id, "h1", relay.holder, is_read_only=False)
    host, browser = PipeEnd(), PipeEnd(language)
    ends = [asyncio.create_task(relay.host(host, session)), asyncio.create_task(relay.browser(browser, session))]
    assert await browser.went.get() == b""
    host.comes(b"")
    await asyncio.gather(*ends)
    return browser.reason


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("", ("Ended by mary.", "The guest's side ended.")),
        ("en", ("Ended by mary.", "The guest's side ended.")),
        ("zh-hans", ("由 mary 结束。", "虚拟机一侧已断开。")),
        ("tlh", ("Ended by mary.", "The guest's side ended.")),
    ],
)
def test_page_is_told_in_its_language_why_it_ended_and_the_row_in_english(language: str, said: tuple[str, str]) -> None:
    first, second = two_serial_sessions()
    ConsoleSession.objects.filter(pk=first.pk).update(ended_at=Now(), ended_because="Ended by mary.")
    told = [asyncio.run(asyncio.wait_for(_ended_in(one.pk, language), PATIENCE_S)) for one in (first, second)]
    assert tuple(told) == said
    stored = dict(ConsoleSession.objects.values_list("pk", "ended_because"))
    assert (stored[first.pk], stored[second.pk]) == ("Ended by mary.", "The guest's side ended.")
