"""The one way from `settings.KILONOVA` to the options of an app, and the settings of `/metrics` and of streams.

`settings.KILONOVA` maps the environment name of every setting to its value (controlplane.settings fills it). Code reads
it through the function of its app's `conf.py` alone. A test that needs another value replaces the mapping as a whole:

    settings.KILONOVA = {**settings.KILONOVA, "LEASE_S": 1.2}       # the fixture `settings` of pytest-django
    override_settings(KILONOVA={**settings.KILONOVA, "LEASE_S": 1.2})
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

from django.conf import settings

from controlplane.kernel.settings import networks_problem, options_from, setting

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")

_made: "dict[type[DataclassInstance], tuple[Mapping[str, Any], DataclassInstance]]" = {}


def options_now(options: type[T]) -> T:
    """The options of this class as settings have them now.

    They are made once for each mapping, which is told by identity, because options are asked for on every request. So a
    mapping that is changed in place after it was first read has no effect.
    """
    given = settings_by_name()
    known = _made.get(options)
    if known is None or known[0] is not given:
        known = _made[options] = given, options_from(options, given)
    return cast("T", known[1])


def settings_by_name() -> Mapping[str, Any]:
    """All of them, by environment name, for rules that compare settings of several apps."""
    given: Mapping[str, Any] = settings.KILONOVA
    return given


MIN_TOKEN_CHARS = 16


def _token_problem(token: str) -> str:
    if token and (len(token) < MIN_TOKEN_CHARS or not token.isascii()):
        return f"must be at least {MIN_TOKEN_CHARS} characters of ASCII"
    return ""


@dataclass(frozen=True, slots=True)
class MetricsOptions:
    """Who may read the metrics, and how old they may be."""

    metrics_token: str = setting(
        "",
        f"Who sends it (Authorization: Bearer ...) may read /metrics; at least {MIN_TOKEN_CHARS} characters. "
        "Empty: nobody may by a token.",
        problem=_token_problem,
    )
    metrics_allow: tuple[str, ...] = setting(
        (),
        "Addresses and networks (127.0.0.1, 10.0.0.0/8) that may read /metrics without a token.",
        problem=networks_problem,
    )
    metrics_window_s: float = setting(300.0, "Seconds back that /metrics counts what ended.", min_value=1)
    metrics_cache_s: float = setting(2.0, "Seconds for which a web process answers /metrics with what it has.")


def metrics_options() -> MetricsOptions:
    """The options as settings have them now."""
    return options_now(MetricsOptions)


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """How many pages a web process tells of changes. Those that find no place look by themselves."""

    streams_max: int = setting(2000, "Open pages that one web process tells of changes (server-sent events); 0: none.")
    streams_check_s: float = setting(
        25.0, "Seconds between two looks whether a page's owner is still logged in, with the same rights.", min_value=1
    )
    streams_per_user: int = setting(20, "Open pages of one user that one web process tells of changes.", min_value=1)


def stream_options() -> StreamOptions:
    """The options as settings have them now."""
    return options_now(StreamOptions)
