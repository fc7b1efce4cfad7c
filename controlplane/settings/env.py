"""Values of the environment for settings as their apps declare them. Only this module reads `os.environ`.

A value that does not parse stops the process with a sentence that names it.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from django.core.exceptions import ImproperlyConfigured

from computeagent.conf import HostSettings
from controlplane.audit_log.conf import AuditLogOptions
from controlplane.identity.conf import IdentityOptions, LdapOptions, OidcOptions
from controlplane.infra.conf import MetricsOptions, PageOptions, StreamOptions, WebOptions
from controlplane.kernel.settings import Setting, Value, options_from, settings_of
from controlplane.notifications.conf import NotificationOptions
from controlplane.settings.installation import InstallationOptions
from controlplane.work.conf import WorkOptions
from placement.conf import PlacementOptions
from scheduling.conf import SchedulingOptions
from servers.conf import OvnOptions, ServerOptions

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")

BASE_DIR: Path = Path(__file__).resolve().parent.parent.parent
STATE_NAME = "$KILONOVA_STATE"
APP_OPTIONS: "tuple[type[DataclassInstance], ...]" = (
    AuditLogOptions,
    WorkOptions,
    IdentityOptions,
    LdapOptions,
    OidcOptions,
    NotificationOptions,
    PlacementOptions,
    SchedulingOptions,
    ServerOptions,
    OvnOptions,
    MetricsOptions,
    StreamOptions,
    WebOptions,
    PageOptions,
    HostSettings,
)
"""All whose values stand in `settings.KILONOVA`."""
ALL_OPTIONS: "tuple[type[DataclassInstance], ...]" = (InstallationOptions, *APP_OPTIONS)


def is_given(name: str) -> bool:
    """Whether the environment has a value that counts."""
    return bool(os.environ.get(name))


def raw_text(name: str) -> str:
    """What the environment says, to the letter; empty where it says nothing."""
    return os.environ.get(name, "")


def settings_file() -> str:
    """The file that the environment was filled from, where whoever started the process named it."""
    return str(_value(settings_of(InstallationOptions)["settings_file"]))


def values_of(options: "type[DataclassInstance]") -> dict[str, Any]:
    """The value of each setting of this class by its environment name. Raises ImproperlyConfigured."""
    return {one.name: _value(one) for one in settings_of(options).values()}


def options_of_environment(options: type[T]) -> T:
    """The same as an object."""
    return options_from(options, values_of(options))


def _value(one: Setting) -> Value:
    if is_given(one.name):
        try:
            return one.parse(os.environ[one.name])
        except ValueError as error:
            raise ImproperlyConfigured(str(error)) from error
    return default_of(one)


def default_of(one: Setting) -> Value:
    """The value where nothing is given: places in the checkout and in the state directory are put in."""
    default = one.default
    if isinstance(default, str | Path):
        text = str(default)
        if text.startswith("./"):
            return type(default)(BASE_DIR / text)
        if STATE_NAME in text:
            state = Path(str(_value(settings_of(InstallationOptions)["state"]))).resolve()
            return type(default)(text.replace(STATE_NAME, str(state)))
    return default
