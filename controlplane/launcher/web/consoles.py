"""Either end of a console at this web process: a view judges the request, the relay goes on with its WebSocket."""

from collections.abc import Iterator

from controlplane.kernel.errors import Unavailable
from controlplane.launcher.web.console_ends import BrowserEnd
from controlplane.launcher.web.console_relay import ConsoleRelay
from servers.consoles.places import OpenedConsole


class ConsoleOffer:
    """What one request is offered. See `servers.consoles.places.ConsolePlaces`."""

    def __init__(self, relay: ConsoleRelay) -> None:
        self._relay = relay
        self._session: OpenedConsole | None = None
        self._is_browser = False

    @property
    def holder(self) -> str:
        """See ConsolePlaces."""
        return self._relay.holder

    @property
    def is_taken(self) -> bool:
        """Whether the view let the request in."""
        return self._session is not None

    def room_require(self) -> None:
        """See ConsolePlaces."""
        if self._relay.is_full:
            raise Unavailable("This server holds as many consoles as it may.")

    def browser(self, session: OpenedConsole) -> Iterator[bytes]:
        """See ConsolePlaces."""
        self._session, self._is_browser = session, True
        return iter(())

    def host(self, session: OpenedConsole) -> Iterator[bytes]:
        """See ConsolePlaces."""
        self._session = session
        return iter(())

    async def go_on(self, end: BrowserEnd) -> None:
        """With the connection that the view let in, until the console is over."""
        if self._session is None:
            raise RuntimeError("nobody took this connection")
        if self._is_browser:
            await self._relay.browser(end, self._session)
        else:
            await self._relay.host(end, self._session)
