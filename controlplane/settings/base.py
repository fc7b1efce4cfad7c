"""What every way of running shares. What differs between installations comes from the environment through `env`."""

from pathlib import Path
from typing import Any

import dj_database_url
import django_stubs_ext
from csp.constants import NONE, SELF

from controlplane.settings import env
from controlplane.settings.installation import InstallationOptions

# Lets classes of Django that are generic for the type checker only be written as such.
django_stubs_ext.monkeypatch()

# Lower case, so that Django takes it for no setting: it holds the secret key.
installation = env.options_of_environment(InstallationOptions)
KILONOVA: dict[str, Any] = {
    name: value for options in env.APP_OPTIONS for name, value in env.values_of(options).items()
}
"""Our own settings by environment name. Code reads them through the `conf.py` of its app."""

BASE_DIR = env.BASE_DIR
STATE_DIR = Path(installation.state).resolve()

SECRET_KEY = installation.secret_key
SECRET_KEY_FALLBACKS = list(installation.secret_key_fallbacks)
DEBUG = False
ALLOWED_HOSTS = list(installation.allowed_hosts)
CSRF_TRUSTED_ORIGINS = list(installation.csrf_trusted_origins)
DATABASE_URL = installation.database_url
REDIS_URL = installation.redis_url

INSTALLED_APPS = [
    "controlplane.identity",
    "controlplane.dashboard.django_admin.apps.PanelAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django_filters",
    "django_htmx",
    "django_q",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "csp",
    "controlplane.infra",
    "controlplane.audit_log",
    "controlplane.work",
    "controlplane.notifications",
    "placement",
    "scheduling",
    "servers",
    "computeagent",
    "controlplane.dashboard",
    "controlplane.launcher",
]

MIDDLEWARE = [
    "controlplane.infra.request_id.RequestIdMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "controlplane.identity.actor_middleware.ActorMiddleware",
    "controlplane.infra.fast_path.FastPathMiddleware",
    "controlplane.infra.api.closing_slash.ClosingSlash",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "controlplane.identity.second_factor_middleware.SecondFactorMiddleware",
    "controlplane.identity.time_zone_middleware.TimeZoneMiddleware",
    "controlplane.dashboard.language_middleware.LanguageMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "controlplane.dashboard.method_refused.MethodRefusedPage",
    "controlplane.infra.nul_characters.NulRefused",
]

# Doors for programs alone: no session, no cookie, no page, so the middleware above is all they need.
FAST_PATHS = {
    "/placement": "placement.openstack.dispatcher.serve",
    "/compute": "servers.openstack.compute.dispatcher.serve",
    "/agent": "servers.agent_door.views.serve",
}

ROOT_URLCONF = "controlplane.urls"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]


def database(url: str) -> dict[str, Any]:
    """One entry of DATABASES. Connections are kept; SQLite writes are immediate, in WAL (no lock upgrade fails), by a
    backend whose transactions no collection of garbage can hold up.
    """
    config: dict[str, Any] = {**dj_database_url.parse(url)}
    config["CONN_MAX_AGE"] = None
    if config["ENGINE"].endswith("sqlite3"):
        config["ENGINE"] = "controlplane.infra.sqlite3"
        config["OPTIONS"] = {
            "timeout": installation.sqlite_timeout_s,
            "transaction_mode": "IMMEDIATE",
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
        }
    return config


DATABASES = {"default": database(DATABASE_URL)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_USER_MODEL = "identity.User"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "/login/"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/login/"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_HTTPONLY = True
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
DATA_UPLOAD_MAX_MEMORY_SIZE = 5 * 1024 * 1024

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "img-src": [SELF, "data:"],
        "object-src": [NONE],
        "base-uri": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}

# Pages and the Django admin alone are translated (LanguageMiddleware); programs, logs and rows are answered and written
# in English, whoever asks.
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("zh-hans", "中文")]
LOCALE_PATHS = [BASE_DIR / "locale"]
USE_I18N = True
TIME_ZONE = "UTC"
USE_TZ = True
FORMAT_MODULE_PATH = ["controlplane.settings.formats"]

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = BASE_DIR / "static-collected"
WHITENOISE_USE_FINDERS = True

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "controlplane.identity.api.authentication.TokenAuthentication",
        "controlplane.identity.api.authentication.PageSessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": [
        "controlplane.identity.api.permissions.RoleRequired",
        "controlplane.infra.api.filtering.KnownInput",
    ],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["controlplane.infra.api.parsers.BodyParser"],
    "DEFAULT_FILTER_BACKENDS": [
        "controlplane.infra.api.filtering.KnownFilters",
        "controlplane.infra.api.filtering.KnownOrder",
    ],
    "DEFAULT_PAGINATION_CLASS": "controlplane.infra.api.pagination.StandardPagination",
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "controlplane.infra.api.errors.exception_handler",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Kilonova",
    "DESCRIPTION": "The control plane's own REST API.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
    # Several things have an outcome or a state, each of its own values.
    "ENUM_NAME_OVERRIDES": {
        "DeliveryStateEnum": "controlplane.notifications.models.DeliveryState",
        "DecisionOutcomeEnum": "scheduling.models.decision.DecisionOutcome",
        "ShadowOutcomeEnum": "scheduling.models.shadow_result.OUTCOMES",
        "TrialOutcomeEnum": ["selected", "no_valid_host"],
        "ProviderKindEnum": ["compute", "nested", "other"],
        "NetworkKindEnum": ["hypervisor", "bridge", "ovn"],
        "ConsoleKindEnum": ["vnc", "serial"],
        "BulkKindEnum": ["instance", "host", "volume", "image", "floating_ip", "work"],
        "PoolKindEnum": ["file", "nbd", "rbd"],
        "PortStatusEnum": ["DOWN", "BUILD", "ACTIVE", "ERROR"],
        "KeyPairTypeEnum": ["ssh"],
        "RoleEnum": ["reader", "member", "manager", "admin", "service"],
        "VolumeStateEnum": "servers.models.volume.VOLUME_STATES",
        "CopyStateByHandEnum": ["available", "error"],
    },
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
}

# django-q2 carries wake-ups only (controlplane.work.wakeups): no result is kept, nothing is retried by it,
# because the work row is the truth. `retry` stays above every wait that `timeout` and the read-ahead can add up to.
Q_CLUSTER = {
    "name": "kilonova",
    "ALT_CLUSTERS": {},
    "orm": "default",
    "broker_class": "controlplane.work.queue_broker.WakeupBroker",
    "workers": KILONOVA["CONDUCTOR_WORKERS"],
    "queue_limit": 1,
    "bulk": 1,
    "timeout": 300,
    "retry": 1200,
    "ack_failures": True,
    "max_attempts": 1,
    "save_limit": -1,
    "catch_up": False,
    "scheduler": False,
    "guard_cycle": 0.5,
    "recycle": 500,
    "log_level": "WARNING",
}

LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"context": {"()": "controlplane.kernel.log_lines.ContextFilter"}},
    "formatters": {
        "line": {
            "()": "controlplane.kernel.log_lines.PlainLines",
            "format": "%(asctime)s %(levelname)s %(name)s [%(request_id)s] %(message)s",
        },
        "json": {"()": "controlplane.kernel.log_lines.JsonLines"},
    },
    "handlers": {
        "stderr": {"class": "logging.StreamHandler", "formatter": installation.log_format, "filters": ["context"]},
    },
    "root": {"handlers": ["stderr"], "level": installation.log_level},
    "loggers": {"django.request": {"level": "ERROR"}, "django-q": {"level": "WARNING"}},
}
