"""The one way from `settings.KILONOVA` to the options of an app, and the settings of `/metrics`, of streams and pages.

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
from controlplane.kernel.texts import phrase as _
from controlplane.kernel.time_zones import UTC_NAME, time_zone_problem

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
        _(
            "Who sends it (Authorization: Bearer ...) may read /metrics; at least {characters} characters. "
            "Empty: nobody may by a token.",
            characters=MIN_TOKEN_CHARS,
        ),
        problem=_token_problem,
    )
    metrics_allow: tuple[str, ...] = setting(
        (),
        _("Addresses and networks (127.0.0.1, 10.0.0.0/8) that may read /metrics without a token."),
        problem=networks_problem,
    )
    metrics_window_s: float = setting(300.0, _("Seconds back that /metrics counts what ended."), min_value=1)
    metrics_cache_s: float = setting(2.0, _("Seconds for which a web process answers /metrics with what it has."))


def metrics_options() -> MetricsOptions:
    """The options as settings have them now."""
    return options_now(MetricsOptions)


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """How many pages a web process tells of changes. Those that find no place look by themselves."""

    streams_max: int = setting(
        2000, _("Open pages that one web process tells of changes (server-sent events); 0: none.")
    )
    streams_check_s: float = setting(
        25.0,
        _("Seconds between two looks whether a page's owner is still logged in, with the same rights."),
        min_value=1,
    )
    streams_per_user: int = setting(20, _("Open pages of one user that one web process tells of changes."), min_value=1)


def stream_options() -> StreamOptions:
    """The options as settings have them now."""
    return options_now(StreamOptions)


@dataclass(frozen=True, slots=True)
class WebOptions:
    """How patient a web process is with its clients, and what it keeps of theirs."""

    web_head_timeout_s: float = setting(
        20.0, _("Seconds within which the head of a request has to be whole."), min_value=1
    )
    web_body_min_bytes_s: float = setting(
        1024.0,
        _("Bytes of a request's body that have to come each second, after the first 20 seconds; else it is refused."),
        min_value=1,
    )
    web_bodies_max_mib: int = setting(
        512,
        _("Mebibytes of request bodies that one web process keeps in temporary files at a time."),
        min_value=32,
    )
    web_idle_connections_each: int = setting(
        2500,
        _(
            "Connections without a request that one web process keeps for one address, which may be a proxy's. Of more "
            "the one is closed that has been silent for longest."
        ),
        min_value=16,
    )
    large_answer_stalled_s: float = setting(
        60.0,
        _("Seconds for which whoever is answered may take nothing before the connection is cut."),
        min_value=1,
    )


def web_options() -> WebOptions:
    """The options as settings have them now."""
    return options_now(WebOptions)


MAX_NAME_CHARS = 60


def _name_problem(name: str) -> str:
    if len(name) > MAX_NAME_CHARS or not name.isprintable():
        return f"must have at most {MAX_NAME_CHARS} characters, all of them printable"
    return ""


@dataclass(frozen=True, slots=True)
class PageOptions:
    """What pages say of the installation."""

    installation_name: str = setting(
        "",
        _(
            "What this installation is called: in the title and the header of every page, and on the log-in "
            "page, so that nobody takes one for another. Empty: only Kilonova."
        ),
        problem=_name_problem,
    )
    display_time_zone: str = setting(
        UTC_NAME,
        _(
            "The time zone of pages for whoever chose none and before the log-in, by its IANA name (Europe/Berlin). "
            "Programs are always answered in UTC."
        ),
        problem=time_zone_problem,
    )


def page_options() -> PageOptions:
    """The options as settings have them now."""
    return options_now(PageOptions)
