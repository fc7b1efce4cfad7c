"""Finds filters, weighers and schedulers that are not ours: by entry point name or by dotted path."""

import importlib
import site
from importlib.metadata import entry_points

from scheduling.domain.plugins.errors import PluginFailed, PluginNotFound
from scheduling.domain.plugins.guard import shown

WORDS = {
    "kilonova.filters": "filter",
    "kilonova.weighers": "weigher",
    "kilonova.schedulers": "scheduler",
}
"""What the plug-ins of each group of entry points are."""


def load_plugin(group: str, name: str) -> object:
    """A new object of the class that `name` stands for: an entry point of `group`, or `package.module.Class`.

    Raises PluginNotFound when there is none, PluginFailed when it cannot be imported or made.
    """
    try:
        found = _found(group, name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a module may say sys.exit()
        raise PluginFailed(f"{name} cannot be loaded: {shown(error)}", plugin=name) from error
    if found is None:
        raise PluginNotFound(f"there is no {WORDS.get(group, 'plug-in')} {name!r}", plugin=name)
    return _made(name, found)


def plugin_names(group: str) -> tuple[str, ...]:
    """Names of the entry points of `group` that are installed."""
    return tuple(sorted(entry.name for entry in entry_points(group=group)))


def _found(group: str, name: str) -> object | None:
    """A package that was installed after this process began is looked for once more, where packages are now."""
    try:
        found = _by_entry_point(group, name) or _by_path(name)
    except ModuleNotFoundError:
        found = None
    if found is None:
        _packages_look()
        found = _by_entry_point(group, name) or _by_path(name)
    return found


def _packages_look() -> None:
    """Read again where packages are installed, links to editable ones included, as Python does when it starts."""
    importlib.invalidate_caches()
    for directory in site.getsitepackages():
        site.addsitedir(directory)


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
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise PluginFailed(f"{name} cannot be made: {shown(error)}", plugin=name) from error
    return made
