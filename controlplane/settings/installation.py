"""What Django and its libraries are configured by: settings that no app of ours reads by itself."""

from dataclasses import dataclass

from controlplane.kernel.settings import setting


@dataclass(frozen=True, slots=True)
class InstallationOptions:
    """Where the installation keeps its things, how it is reached, what it logs and promises."""

    state: str = setting("./state", "Directory for all that a laptop installation writes.", env="KILONOVA_STATE")
    secret_key: str = setting("", "Signs sessions and the queue's packages. At least 50 random characters.")
    allowed_hosts: tuple[str, ...] = setting(
        ("localhost", "127.0.0.1", "[::1]"), "Host names the web server answers to."
    )
    csrf_trusted_origins: tuple[str, ...] = setting(
        (), "Origins (https://name) whose forms are accepted, when behind a proxy."
    )
    database_url: str = setting(
        "sqlite:///$KILONOVA_STATE/kilonova.sqlite3", "The database: sqlite:///FILE or postgres://..."
    )
    redis_url: str = setting("", "Redis for wake-ups (redis://...). Empty: wake-ups go through the database.")
    log_format: str = setting(
        "line",
        "How a log record is written: a line for people, or one JSON object a line.",
        choices=("line", "json"),
    )
    log_level: str = setting("INFO", "Least level that is logged.")
    hsts_seconds: int = setting(
        31_536_000, "Seconds for which browsers shall use HTTPS only, in production; 0: no such promise."
    )
    hsts_include_subdomains: bool = setting(
        False, "Whether that holds for all names below this one, other people's sites included."
    )
    hsts_preload: bool = setting(
        False, "Whether browsers may build the promise in: it then outlasts this setting by months."
    )
