"""What the lines of a log are about: the work under way in this thread. No framework, no logging."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True)
class LogContext:
    """Identifiers as text; empty where there is none. `subject`: whose work it is, the instance or, of a batch that
    has no instances yet, its reservation. `instance`: set where it is known to be one.
    """

    work_id: str = ""
    subject: str = ""
    instance: str = ""


_NOTHING = LogContext()
_current: ContextVar[LogContext] = ContextVar("log_context", default=_NOTHING)


def current_log_context() -> LogContext:
    """What is under way in this thread; empty outside of any work."""
    return _current.get()


@contextmanager
def log_scope(*, work_id: UUID | str, subject: UUID | str = "", instance: UUID | str = "") -> Iterator[None]:
    """Everything inside is logged as part of this work. An inner scope hides the outer one."""
    token = _current.set(LogContext(str(work_id), str(subject), str(instance)))
    try:
        yield
    finally:
        _current.reset(token)
