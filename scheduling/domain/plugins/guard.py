"""Between us and plug-ins: whatever they raise becomes PluginFailed with their name, and no worker dies of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from scheduling.domain.plugins.errors import PluginFailed, PluginNotFound

MAX_SHOWN = 200


@dataclass(slots=True)
class Asked:
    """What a plug-in is asked about just now: a host's name, where it is one host."""

    host: str | None = None


@contextmanager
def plugin_guard(kind: str, name: str) -> Iterator[Asked]:
    """Turns what the block raises into PluginFailed; also SystemExit, which would otherwise end the worker.

    The block says in `Asked` which host it asks about. KeyboardInterrupt passes, since it is a person who stops the
    process; so does what names a plug-in already.
    """
    asked = Asked()
    try:
        yield asked
    except (KeyboardInterrupt, PluginFailed, PluginNotFound):
        raise
    except BaseException as error:
        raise _failure(kind, name, error, asked.host) from error


def _failure(kind: str, name: str, error: BaseException, host: str | None) -> PluginFailed:
    where = {} if host is None else {"host": host}
    on = "" if host is None else f" on {host}"
    return PluginFailed(f"the {kind} {name} failed{on}: {shown(error)}", plugin=name, **where)


def shown(value: object) -> str:
    """Somebody else's object in words, on one line of bounded length, even if it cannot say so itself."""
    try:
        text = repr(value)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - its __repr__ may raise anything
        text = f"a {type(value).__name__} that cannot be shown"
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."
