"""For whoever watches the installation: logs, metrics, readiness."""

from typing import Any

from django.core.exceptions import ImproperlyConfigured

from controlplane.settings import env

MIN_TOKEN_CHARS = 16


def _token() -> str:
    token = env.text(
        "METRICS_TOKEN",
        "",
        f"Who sends it (Authorization: Bearer ...) may read /metrics; at least {MIN_TOKEN_CHARS} characters. "
        "Empty: nobody may by a token.",
    )
    if token and (len(token) < MIN_TOKEN_CHARS or not token.isascii()):
        raise ImproperlyConfigured(f"METRICS_TOKEN must be at least {MIN_TOKEN_CHARS} characters of ASCII")
    return token


LOG_FORMAT = env.choice(
    "LOG_FORMAT", ("line", "json"), "How a log record is written: a line for people, or one JSON object a line."
)
LOG_LEVEL = env.text("LOG_LEVEL", "INFO", "Least level that is logged.")
LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"context": {"()": "controlplane.infra.log_lines.ContextFilter"}},
    "formatters": {
        "line": {
            "()": "controlplane.infra.log_lines.PlainLines",
            "format": "%(asctime)s %(levelname)s %(name)s [%(request_id)s] %(message)s",
        },
        "json": {"()": "controlplane.infra.log_lines.JsonLines"},
    },
    "handlers": {
        "stderr": {"class": "logging.StreamHandler", "formatter": LOG_FORMAT, "filters": ["context"]},
    },
    "root": {"handlers": ["stderr"], "level": LOG_LEVEL},
    "loggers": {"django.request": {"level": "ERROR"}, "django-q": {"level": "WARNING"}},
}
WATCH_SETTINGS: dict[str, Any] = {
    "METRICS_TOKEN": _token(),
    "METRICS_ALLOW": env.networks(
        "METRICS_ALLOW", "Addresses and networks (127.0.0.1, 10.0.0.0/8) that may read /metrics without a token."
    ),
    "METRICS_WINDOW_S": env.number(
        "METRICS_WINDOW_S", 300.0, "Seconds back that /metrics counts what ended.", minimum=1.0
    ),
    "METRICS_CACHE_S": env.number(
        "METRICS_CACHE_S", 2.0, "Seconds for which a web process answers /metrics with what it has.", minimum=0.0
    ),
    "READY_QUEUE_AGE_S": env.number(
        "READY_QUEUE_AGE_S",
        300.0,
        "Not ready (/readyz) while some work of the conductor has waited for longer than this many seconds.",
        minimum=1.0,
    ),
    "NOTIFICATION_ALLOWED_NETWORKS": env.networks(
        "NOTIFICATION_ALLOWED_NETWORKS",
        "Addresses and networks (10.0.0.0/8) that webhooks may reach though they are loopback, link-local or private.",
    ),
    "WORK_RETENTION_DAYS": env.number(
        "WORK_RETENTION_DAYS",
        90.0,
        "Days for which ended work is kept for people to look at; 0: for ever.",
        minimum=0.0,
    ),
}
