"""What a web process offers to requests for consoles: its relay goes on with those that a view let in. Needs Django."""

from collections.abc import Callable, Iterator
from typing import Any

from controlplane.kernel.errors import Unavailable
from controlplane.launcher.consoles.relay import ConsoleRelay
from controlplane.launcher.streams import HandedOver
from servers.consoles.places import OpenedConsole, console_places_offered

GoOn = Callable[[Any, str, dict[str, str], OpenedConsole], None]


class Consoles:
    """Safe to use from any thread. No thread of it runs before the first console is asked for."""

    def __init__(self) -> None:
        self._relay = ConsoleRelay()

    def taken(self, req: Any, conn: Any, serve: Callable[[Any, Any], Any]) -> bool:
        """Serve the request. Where its view lets it in, go on with its connection and say so; else it was answered."""
        offer = ConsoleOffer(self._relay)
        try:
            with console_places_offered(offer):
                serve(req, conn)
        except HandedOver:
            offer.go_on(conn.sock, req.path, dict(req.headers))
            return True
        return False

    def close(self) -> None:
        """Browsers come again, to another process."""
        self._relay.close()


class ConsoleOffer:
    """See `servers.consoles.places.ConsolePlaces`."""

    def __init__(self, relay: ConsoleRelay) -> None:
        self._relay = relay
        self._taken: tuple[GoOn, OpenedConsole] | None = None

    @property
    def holder(self) -> str:
        """See ConsolePlaces."""
        return self._relay.holder

    def room_require(self) -> None:
        """See ConsolePlaces."""
        if self._relay.is_full:
            raise Unavailable("This server holds as many consoles as it may.")

    def browser(self, session: OpenedConsole) -> Iterator[bytes]:
        """See ConsolePlaces."""
        self._taken = self._relay.take_browser, session
        return _handed_over()

    def host(self, session: OpenedConsole) -> Iterator[bytes]:
        """See ConsolePlaces."""
        self._taken = self._relay.take_host, session
        return _handed_over()

    def go_on(self, sock: Any, path: str, headers: dict[str, str]) -> None:
        """With the connection that the view took."""
        if self._taken is None:
            raise RuntimeError("nobody took this connection")
        go_on, session = self._taken
        go_on(sock, path, headers, session)


def _handed_over() -> Iterator[bytes]:
    """A body that ends before a byte is written: the relay answers the request."""
    yield from ()
    raise HandedOver
