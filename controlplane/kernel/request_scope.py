"""Whose request is under way in this thread: the id that travels into jobs, rows, logs and agents. No framework."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from controlplane.kernel.ids import new_request_id

REQUEST_ID_HEADER = "X-OpenStack-Request-Id"
_current: ContextVar[str] = ContextVar("request_id", default="-")


def current_request_id() -> str:
    """The id of the request or job under way; '-' outside of any."""
    return _current.get()


@contextmanager
def request_id_scope(request_id: str) -> Iterator[None]:
    """Everything inside logs and records under `request_id`."""
    token = _current.set(request_id or new_request_id())
    try:
        yield
    finally:
        _current.reset(token)
