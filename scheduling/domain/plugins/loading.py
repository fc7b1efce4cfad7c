"""Finds filters, weighers and schedulers by name: ours, entry points of installed packages, and dotted paths.

A policy is written through the API, so its names are not trusted: a module is imported only if an installed package
declares it or the operator allows it, and nothing is called before it was found to be a class of the right kind.
"""

import importlib
import site
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any, Generic, TypeVar

from controlplane.kernel.texts import phrase as _
from scheduling.domain.plugins.errors import PluginFailed, PluginNotAllowed, PluginNotFound
from scheduling.domain.plugins.guard import shown

ALLOWED_MODULES_SETTING = "SCHEDULER_PLUGIN_MODULES"

P = TypeVar("P")

_ALLOWED: list[Callable[[], tuple[str, ...]]] = []


def plugin_modules_allow(modules: Callable[[], tuple[str, ...]]) -> None:
    """Let `modules` say which modules, with all below them, may be named by dotted path. Called when apps are ready.

    Without it there are none: entry points and our own are all that can be had.
    """
    _ALLOWED[:] = [modules]


@dataclass(frozen=True, slots=True)
class PluginRegistry(Generic[P]):
    """All plug-ins of one kind.

    `kind` is the word for one of them and `group` their group of entry points. `built_in` are ours by name. Another
    class is one of them if it inherits from `base` or has one of `methods`; `adapt` turns an object of it into what the
    engine works with.
    """

    kind: str
    group: str
    built_in: Mapping[str, type[P]]
    base: type
    methods: tuple[str, ...]
    adapt: Callable[[Any], P]

    def load(self, name: str) -> P:
        """A new one: ours, an entry point, or `package.module.Class`.

        Raises PluginNotFound when there is none, PluginNotAllowed when its module may not be imported, PluginFailed
        when it cannot be imported or made, or is of another kind.
        """
        if name in self.built_in:
            return self.built_in[name]()
        try:
            found = self._found(name)
        except (KeyboardInterrupt, PluginNotAllowed):
            raise
        except BaseException as error:  # a module may say sys.exit()
            raise PluginFailed(
                _("{name} cannot be loaded: {error}", name=name, error=shown(error)), plugin=name
            ) from error
        if found is None:
            raise PluginNotFound(_("there is no {kind} {name!r}", kind=self.kind, name=name), plugin=name)
        return self.adapt(self._made(name, found))

    def names(self) -> tuple[str, ...]:
        """All that can be had without a dotted path."""
        return tuple(sorted({*self.built_in, *(entry.name for entry in entry_points(group=self.group))}))

    def _found(self, name: str) -> object | None:
        """The class by name; a package that was installed after this process began is searched for once more."""
        try:
            found = self._by_entry_point(name) or self._by_path(name)
        except ModuleNotFoundError:
            found = None
        if found is None:
            _packages_rescan()
            found = self._by_entry_point(name) or self._by_path(name)
        return found

    def _by_entry_point(self, name: str) -> object | None:
        for entry in entry_points(group=self.group, name=name):
            found: object = entry.load()
            return found
        return None

    def _by_path(self, name: str) -> object | None:
        module_name, _, class_name = name.rpartition(".")
        if not module_name:
            return None
        self._check_allowed(name, module_name)
        try:
            module = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            if error.name and module_name.startswith(error.name):
                return None
            raise
        found: object | None = getattr(module, class_name, None)
        return found

    def _check_allowed(self, name: str, module_name: str) -> None:
        allowed = _ALLOWED[0]() if _ALLOWED else ()
        ours = {each.__module__ for each in self.built_in.values()}
        if module_name in ours or any(module_name == one or module_name.startswith(f"{one}.") for one in allowed):
            return
        among = ", ".join(allowed) or "none"
        raise PluginNotAllowed(
            _(
                "the {kind} {name!r} is in a module that {allowed_modules_setting} does not allow "
                "(it allows: {among}); install it with an entry point in {group}, or let the "
                "operator allow it",
                kind=self.kind,
                name=name,
                allowed_modules_setting=ALLOWED_MODULES_SETTING,
                among=among,
                group=self.group,
            ),
            plugin=name,
            setting=ALLOWED_MODULES_SETTING,
        )

    def _made(self, name: str, found: object) -> object:
        """An object of the class, which is called only after it was found to be one of this kind."""
        if not isinstance(found, type):
            raise PluginFailed(_("{name} is not a class", name=name), plugin=name)
        if not issubclass(found, self.base) and not any(callable(getattr(found, each, None)) for each in self.methods):
            text = _(
                "{name} is no {kind}: it has no {methods}", name=name, kind=self.kind, methods=" or ".join(self.methods)
            )
            raise PluginFailed(text, plugin=name)
        try:
            made: object = found()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise PluginFailed(
                _("{name} cannot be made: {error}", name=name, error=shown(error)), plugin=name
            ) from error
        return made


def _packages_rescan() -> None:
    """Read again where packages are installed, links to editable ones included, as Python does when it starts."""
    importlib.invalidate_caches()
    for directory in site.getsitepackages():
        site.addsitedir(directory)
