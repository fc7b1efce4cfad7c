"""Between us and plug-ins: whatever they raise becomes PluginFailed with their name, and no worker dies of it."""

from collections.abc import Iterator
from contextlib import contextmanager

from scheduling.domain.plugins.errors import PluginFailed, PluginNotFound

MOST_SHOWN = 200


@contextmanager
def plugin_guard(kind: str, name: str) -> Iterator[None]:
    """Turns what the block raises into PluginFailed; also SystemExit, which would otherwise end the worker.

    KeyboardInterrupt passes, since it is a person who stops the process; so does what names a plug-in already.
    """
    try:
        yield
    except (KeyboardInterrupt, PluginFailed, PluginNotFound):
        raise
    except BaseException as error:
        raise plugin_failure(kind, name, error) from error


def plugin_failure(kind: str, name: str, error: BaseException, *, host: str | None = None) -> PluginFailed:
    """What to raise for an error of a plug-in, while it was asked about `host` if there is one."""
    where = {} if host is None else {"host": host}
    on = "" if host is None else f" on {host}"
    return PluginFailed(f"the {kind} {name} failed{on}: {shown(error)}", plugin=name, **where)


def shown(value: object) -> str:
    """What somebody else's object looks like, on one line of bounded length, even if it cannot say so itself."""
    try:
        text = repr(value)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - its __repr__ may raise anything
        text = f"a {type(value).__name__} that cannot be shown"
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."
