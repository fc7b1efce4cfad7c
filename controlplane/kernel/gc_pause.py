"""The cyclic garbage collector, for work during which no collection may run, or none is worth its time."""

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

MANY = 50_000
"""So many objects that came since the last collection are looked at, although others have paused it."""
_lock = threading.Lock()
_pauses = 0
_was_enabled = True


@contextmanager
def gc_paused() -> Iterator[None]:
    """Collect no cycles meanwhile: neither in this thread nor in any other of the process.

    Each full collection walks over all objects of the process, the fleet included, and work that only makes more of
    them triggers several in vain. What is not part of a cycle is freed at once as always.
    """
    gc_pause()
    try:
        yield
    finally:
        gc_resume()


def gc_pause() -> None:
    """Collect no cycles until as many `gc_resume` were called, in whichever threads. A collector that was off stays off
    after them.
    """
    global _pauses, _was_enabled  # noqa: PLW0603 - the collector is one for the process, too
    with _lock:
        if not _pauses:
            _was_enabled = gc.isenabled()
            gc.disable()
        _pauses += 1


def gc_resume() -> None:
    """End one pause. Where others go on, and much has come meanwhile, the caller collects what is young."""
    global _pauses  # noqa: PLW0603
    with _lock:
        if not _pauses:  # it began in the process that this one was forked from
            return
        _pauses -= 1
        is_on = _was_enabled
        if not _pauses and is_on:
            gc.enable()
    if is_on and gc.get_count()[0] > MANY:
        gc.collect(1)


def _begin_anew() -> None:
    """Who paused it is not in a process that was forked."""
    global _lock, _pauses  # noqa: PLW0603
    _lock = threading.Lock()
    if _pauses and _was_enabled:
        gc.enable()
    _pauses = 0


os.register_at_fork(after_in_child=_begin_anew)
