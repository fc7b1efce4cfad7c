"""What can go wrong in scheduling besides finding no host."""

from controlplane.kernel.errors import Invalid, KilonovaError


class PluginFailed(KilonovaError):
    """A scheduler, filter or weigher raised or answered nonsense; the request fails, the worker lives.

    `extra` has `plugin` (its name) and, where one host was being asked about, `host`.
    """

    code = "plugin_failed"


class PluginNotFound(Invalid):
    """The policy names a scheduler, filter or weigher that cannot be found or loaded; `extra` has `plugin`."""

    code = "plugin_not_found"


class PluginNotAllowed(PluginNotFound):
    """The policy names one by a path into a module that no setting allows; nothing of it was imported or called.

    `extra` has `plugin` and `setting`, the name of the setting that would allow it.
    """

    code = "plugin_not_allowed"
