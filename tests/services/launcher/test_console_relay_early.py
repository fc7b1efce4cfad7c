"""A host that is woken by the row of a session may be at the relay before the browser's connection is."""

import socket
import uuid

import pytest

from controlplane.launcher.consoles.relay import ConsoleRelay
from servers.consoles.places import OpenedConsole
from tests.units.launcher.test_console_relay import UPGRADE


@pytest.mark.django_db(transaction=True)
def test_host_that_is_quicker_than_the_browser_is_waited_with() -> None:
    relay = ConsoleRelay()
    session = OpenedConsole(uuid.uuid4(), "h1", relay.holder, is_read_only=False)
    host, host_far = socket.socketpair()
    browser, browser_far = socket.socketpair()
    with host, browser:
        host.settimeout(60)
        browser.settimeout(60)
        relay.take_host(host_far, "/agent/v1/console", UPGRADE, session)
        assert host.recv(1000).startswith(b"HTTP/1.1 101 ")
        relay.take_browser(browser_far, "/consoles/stream/", UPGRADE, session)
        assert browser.recv(1000).startswith(b"HTTP/1.1 101 ")
        host.sendall(b"\x82\x82\x00\x00\x00\x00hi")
        assert browser.recv(100) == b"\x82\x02hi"
        relay.close()
        assert browser.recv(100)[0] == 0x88
