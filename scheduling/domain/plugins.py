"""Finds filters and weighers that are not ours: by entry point name or by dotted path."""

import importlib
from importlib.metadata import entry_points

from scheduling.domain.errors import PluginFailed, PluginNotFound


def load_plugin(group: str, name: str) -> object:
    """A new object of the class that `name` stands for: an entry point of `group`, or `package.module.Class`.

    Raises PluginNotFound when there is none, PluginFailed when it cannot be imported or made.
    """
    try:
        found = _by_entry_point(group, name) or _by_path(name)
    except Exception as error:
        raise PluginFailed(f"{name} cannot be loaded: {error!r}", plugin=name) from error
    if found is None:
        raise PluginNotFound(f"there is no filter or weigher {name!r}", plugin=name)
    return _made(name, found)


def plugin_names(group: str) -> tuple[str, ...]:
    """Names of the entry points of `group` that are installed."""
    return tuple(sorted(entry.name for entry in entry_points(group=group)))


def _by_entry_point(group: str, name: str) -> object | None:
    for entry in entry_points(group=group, name=name):
        found: object = entry.load()
        return found
    return None


def _by_path(name: str) -> object | None:
    module_name, _, class_name = name.rpartition(".")
    if not module_name:
        return None
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and module_name.startswith(error.name):
            return None
        raise
    found: object | None = getattr(module, class_name, None)
    return found


def _made(name: str, found: object) -> object:
    if not callable(found):
        raise PluginFailed(f"{name} is not a class", plugin=name)
    try:
        made: object = found()
    except Exception as error:
        raise PluginFailed(f"{name} cannot be made: {error!r}", plugin=name) from error
    return made
