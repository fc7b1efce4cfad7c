"""What one open page is told, and whether its owner is still who opened it."""

from collections.abc import Collection, Mapping, Sequence
from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user
from django.db import close_old_connections
from django.http import HttpRequest

from controlplane.identity.api.callers import caller_of
from controlplane.identity.domain import Caller
from controlplane.infra.event_streams import Feed, Tell, event
from controlplane.kernel.errors import Forbidden
from controlplane.work.hints.hub import hint_hub


class PageFeed:
    """The hints of some topics, as events. See `Feed` and the hub's `Subscriber`."""

    def __init__(self, caller: Caller, session_key: str, topics: Mapping[str, str]) -> None:
        self.caller = caller
        self.session_key = session_key
        self._watches = topics
        self._tell: Tell | None = None

    @property
    def owner(self) -> str:
        """See Feed."""
        return str(self.caller.user_id)

    @property
    def topics(self) -> Collection[str]:
        """See Subscriber."""
        return self._watches.keys()

    def begin(self, tell: Tell) -> None:
        """See Feed."""
        self._tell = tell
        hint_hub().subscribe(self)

    def end(self) -> None:
        """See Feed."""
        hint_hub().unsubscribe(self)

    def hinted(self, topics: set[str]) -> None:
        """See Subscriber."""
        if self._tell is not None:
            for topic in sorted(topics):
                self._tell(event("changed", self._watches[topic]))

    def listening(self) -> None:
        """See Subscriber."""
        if self._tell is not None:
            self._tell(event("ready"))


def feeds_may_go_on(feeds: Sequence[Feed]) -> list[bool]:
    """Of each, whether its session lives and makes the same caller as when it was opened: the same user, project and
    roles. Who has other rights now opens a stream anew, and is judged anew.

    A session is looked up once, however many pages it has open.
    """
    close_old_connections()
    try:
        keys = {feed.session_key for feed in feeds if isinstance(feed, PageFeed)}
        callers = {key: _caller_of_session(key) for key in keys}
        return [isinstance(feed, PageFeed) and callers[feed.session_key] == feed.caller for feed in feeds]
    finally:
        close_old_connections()


def _caller_of_session(key: str) -> Caller | None:
    """As a request with this session would find it; None for one that may not ask."""
    request = HttpRequest()
    stored = import_module(settings.SESSION_ENGINE).SessionStore(key).load()
    request.session = _LookedAt(stored)  # type: ignore[assignment]  # all that is asked of a session here
    request.user = get_user(request)
    try:
        return caller_of(request)
    except Forbidden:
        return None


class _LookedAt(dict[str, Any]):
    """What a session says. Django gives one of another SECRET_KEY a new key, of which only the answer to a request can
    tell the browser, and removes one that does not hold any more: whoever only looks does neither.
    """

    def cycle_key(self) -> None:
        """Leave the row as it is."""

    def flush(self) -> None:
        """Leave the row as it is; here it says nothing any more."""
        self.clear()
