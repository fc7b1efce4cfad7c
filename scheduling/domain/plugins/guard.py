"""Between us and plug-ins: whatever they raise becomes PluginFailed with their name, and no worker dies of it."""

from dataclasses import dataclass

from controlplane.kernel.texts import phrase as _
from scheduling.domain.plugins.errors import PluginFailed, PluginNotFound

MAX_SHOWN = 200


@dataclass(slots=True)
class Asked:
    """What a plug-in is asked about just now: a host's name, where it is one host."""

    host: str | None = None


class plugin_guard:  # noqa: N801 - it is used like a function
    """Turns what the block raises into PluginFailed; also SystemExit, which would otherwise end the worker.

    The block says in `Asked` which host it asks about. KeyboardInterrupt passes, since it is a person who stops the
    process; so does what names a plug-in already. A class, since a batch enters twenty of them for each instance.
    """

    __slots__ = ("_asked", "_kind", "_name")

    def __init__(self, kind: str, name: str) -> None:
        self._kind = kind
        self._name = name
        self._asked = Asked()

    def __enter__(self) -> Asked:
        return self._asked

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None or isinstance(error, KeyboardInterrupt | PluginFailed | PluginNotFound):
            return
        raise _failure(self._kind, self._name, error, self._asked.host) from error


def _failure(kind: str, name: str, error: BaseException, host: str | None) -> PluginFailed:
    where = {} if host is None else {"host": host}
    on = "" if host is None else f" on {host}"
    return PluginFailed(
        _("the {kind} {name} failed{on}: {error}", kind=kind, name=name, on=on, error=shown(error)),
        plugin=name,
        **where,
    )


def shown(value: object) -> str:
    """Somebody else's object in words, on one line of bounded length, even if it cannot say so itself."""
    try:
        text = repr(value)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - its __repr__ may raise anything
        text = f"a {type(value).__name__} that cannot be shown"
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."
