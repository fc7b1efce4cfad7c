"""What Django and its libraries are configured by: settings that no app of ours reads by itself."""

from dataclasses import dataclass

from controlplane.kernel.settings import setting
from controlplane.kernel.texts import phrase as _


@dataclass(frozen=True, slots=True)
class InstallationOptions:
    """Where the installation keeps its things, how it is reached, what it logs and promises."""

    state: str = setting("./state", _("Directory for all that a laptop installation writes."), env="KILONOVA_STATE")
    settings_file: str = setting(
        "",
        _("The file that a service manager fills the environment from, so that the page of settings can name it."),
    )
    secret_key: str = setting(
        "",
        _(
            "Encrypts the passphrases of volumes and all other stored secrets, and signs sessions and what agents and "
            "guests are given. At least 50 random characters, without a comma. Keep a copy for as long as "
            "any backup of the database: without it encrypted volumes are lost. How to change it: docs/operations.md."
        ),
    )
    secret_key_fallbacks: tuple[str, ...] = setting(
        (),
        _(
            "Other keys that count as SECRET_KEY for what was encrypted or signed with them, while it is being "
            "changed. Nothing is made with them."
        ),
        is_secret=True,
    )
    allowed_hosts: tuple[str, ...] = setting(
        ("localhost", "127.0.0.1", "[::1]"), _("Host names the web server answers to.")
    )
    csrf_trusted_origins: tuple[str, ...] = setting(
        (), _("Origins (https://name) whose forms are accepted, when behind a proxy.")
    )
    database_url: str = setting(
        "sqlite:///$KILONOVA_STATE/kilonova.sqlite3", _("The database: sqlite:///FILE or postgres://...")
    )
    sqlite_timeout_s: float = setting(
        20.0,
        _("Seconds that a write to SQLite waits for another one's lock before it fails. A slow disk needs more."),
        min_value=1,
        max_value=3600,
    )
    redis_url: str = setting("", _("Redis for wake-ups (redis://...). Empty: wake-ups go through the database."))
    log_format: str = setting(
        "line",
        _("How a log record is written: a line for people, or one JSON object a line."),
        choices=("line", "json"),
    )
    log_level: str = setting("INFO", _("Least level that is logged."))
    hsts_seconds: int = setting(
        31_536_000, _("Seconds for which browsers shall use HTTPS only, in production; 0: no such promise.")
    )
    hsts_include_subdomains: bool = setting(
        False, _("Whether that holds for all names below this one, other people's sites included.")
    )
    hsts_preload: bool = setting(
        False, _("Whether browsers may build the promise in: it then outlasts this setting by months.")
    )
