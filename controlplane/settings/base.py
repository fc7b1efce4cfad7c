"""What every way of running shares. Values come from the environment through `env`."""

from pathlib import Path
from typing import Any

import dj_database_url
import django_stubs_ext
from csp.constants import NONE, SELF

from controlplane.settings import env, watching
from controlplane.settings.hosts import HOST_SETTINGS
from controlplane.settings.limits import LIMIT_SETTINGS
from controlplane.settings.plugins import PLUGIN_SETTINGS

# Lets classes of Django that are generic for the type checker only be written as such.
django_stubs_ext.monkeypatch()

BASE_DIR = Path(__file__).resolve().parent.parent.parent
STATE_DIR = Path(
    env.text("KILONOVA_STATE", str(BASE_DIR / "state"), "Directory for all that a laptop installation writes.")
).resolve()

SECRET_KEY = env.text("SECRET_KEY", "", "Signs sessions and the queue's packages. At least 50 random characters.")
DEBUG = False
ALLOWED_HOSTS = list(
    env.words("ALLOWED_HOSTS", ("localhost", "127.0.0.1", "[::1]"), "Host names the web server answers to.")
)
CSRF_TRUSTED_ORIGINS = list(
    env.words("CSRF_TRUSTED_ORIGINS", (), "Origins (https://name) whose forms are accepted, when behind a proxy.")
)

INSTALLED_APPS = [
    "controlplane.identity",
    "django.contrib.admin",
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
    "controlplane.infra.fast_path.FastPathMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "controlplane.dashboard.method_refused.MethodRefusedPage",
    "controlplane.infra.nul_characters.NulRefused",
]

# Doors for programs alone: no session, no cookie, no page, so the middleware above is all they need.
FAST_PATHS = {"/placement": "placement.openstack.dispatcher.serve"}

ROOT_URLCONF = "controlplane.urls"
WSGI_APPLICATION = "controlplane.wsgi.application"
ASGI_APPLICATION = "controlplane.asgi.application"

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

DATABASE_URL = env.text(
    "DATABASE_URL",
    f"sqlite:///{STATE_DIR / 'kilonova.sqlite3'}",
    "The database: sqlite:///FILE or postgres://...",
)
REDIS_URL = env.text("REDIS_URL", "", "Redis for wake-ups (redis://...). Empty: wake-ups go through the database.")


def database(url: str) -> dict[str, Any]:
    """One entry of DATABASES. Connections are kept; SQLite writes are immediate, in WAL (no lock upgrade fails)."""
    config: dict[str, Any] = {**dj_database_url.parse(url)}
    config["CONN_MAX_AGE"] = None
    if config["ENGINE"].endswith("sqlite3"):
        config["OPTIONS"] = {
            "timeout": 20,
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

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = BASE_DIR / "static-collected"
WHITENOISE_USE_FINDERS = True

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "controlplane.identity.api.authentication.TokenAuthentication",
        "controlplane.identity.api.authentication.PageSessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["controlplane.identity.api.permissions.RoleRequired"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["controlplane.infra.api.parsers.BodyParser"],
    "DEFAULT_FILTER_BACKENDS": [
        "django_filters.rest_framework.DjangoFilterBackend",
        "rest_framework.filters.OrderingFilter",
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
    "workers": env.integer("CONDUCTOR_WORKERS", 2, "Processes of the conductor that do work.", minimum=1),
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

LOGGING = watching.LOGGING

KILONOVA: dict[str, Any] = {
    "REPORT_INTERVAL_S": env.number("REPORT_INTERVAL_S", 10.0, "Seconds between heartbeats of an agent.", minimum=0.1),
    "SERVICE_DOWN_TIME_S": env.number(
        "SERVICE_DOWN_TIME_S",
        60.0,
        "An agent silent for longer than this many seconds counts as down.",
        minimum=0.5,
    ),
    "MAX_ATTEMPTS": env.integer(
        "MAX_ATTEMPTS", 3, "Hosts tried for one instance, the first included, where no policy is active.", minimum=1
    ),
    "LEASE_S": env.number("LEASE_S", 30.0, "Seconds a worker owns a piece of work before it must renew.", minimum=1.0),
    "RECONCILE_INTERVAL_S": env.number(
        "RECONCILE_INTERVAL_S", 2.0, "Seconds between looks for work that stood still.", minimum=0.1
    ),
    "BUILD_DEADLINE_S": env.number(
        "BUILD_DEADLINE_S",
        1800.0,
        "Seconds after which a build that has not ended becomes ERROR.",
        minimum=10.0,
    ),
    "TOKEN_LIFETIME_S": env.number("TOKEN_LIFETIME_S", 86400.0, "Seconds an API token is good for.", minimum=60.0),
    "IMAGE_DIR": Path(env.text("IMAGE_DIR", str(STATE_DIR / "images"), "Directory that holds uploaded images.")),
    "IMAGE_MAX_BYTES": env.integer("IMAGE_MAX_BYTES", 64 * 2**30, "Largest image that may be uploaded.", minimum=1),
    "TRUSTED_PROXIES": env.integer(
        "TRUSTED_PROXIES", 0, "Proxies before the web server whose X-Forwarded-For is believed."
    ),
    "INITIAL_CPU_ALLOCATION_RATIO": env.number(
        "INITIAL_CPU_ALLOCATION_RATIO",
        4.0,
        "vCPUs promised per physical one, for hosts that register anew.",
        minimum=0.1,
    ),
    "INITIAL_RAM_ALLOCATION_RATIO": env.number(
        "INITIAL_RAM_ALLOCATION_RATIO",
        1.0,
        "Memory promised per MiB there is, for new hosts.",
        minimum=0.1,
    ),
    "INITIAL_DISK_ALLOCATION_RATIO": env.number(
        "INITIAL_DISK_ALLOCATION_RATIO",
        1.0,
        "Disk promised per GiB there is, for hosts that register anew.",
        minimum=0.1,
    ),
    "RESERVED_HOST_CPUS": env.integer("RESERVED_HOST_CPUS", 0, "vCPUs of each host that instances never get."),
    "RESERVED_HOST_MEMORY_MIB": env.integer(
        "RESERVED_HOST_MEMORY_MIB", 512, "Memory of each host, in MiB, that instances never get."
    ),
    "RESERVED_HOST_DISK_GIB": env.integer(
        "RESERVED_HOST_DISK_GIB", 0, "Disk of each host, in GiB, that instances never get."
    ),
    "LIMIT_TENANTS_TO_PLACEMENT_AGGREGATE": env.boolean(
        "LIMIT_TENANTS_TO_PLACEMENT_AGGREGATE",
        False,
        "Whether a project named in an aggregate's filter_tenant_id gets hosts of such aggregates only.",
    ),
    "PLACEMENT_AGGREGATE_REQUIRED_FOR_TENANTS": env.boolean(
        "PLACEMENT_AGGREGATE_REQUIRED_FOR_TENANTS",
        False,
        "With the one above: whether a project that no aggregate names gets no host at all.",
    ),
    "QUERY_PLACEMENT_FOR_IMAGE_TYPE_SUPPORT": env.boolean(
        "QUERY_PLACEMENT_FOR_IMAGE_TYPE_SUPPORT",
        False,
        "Whether only hosts with the trait of the image's disk format are asked for.",
    ),
    "ENABLE_ISOLATED_AGGREGATE_FILTERING": env.boolean(
        "ENABLE_ISOLATED_AGGREGATE_FILTERING",
        False,
        "Whether an aggregate with trait:X=required is kept for flavors and images that require X.",
    ),
    "IMAGE_METADATA_PREFILTER": env.boolean(
        "IMAGE_METADATA_PREFILTER",
        False,
        "Whether only hosts with the traits of the devices that the image's properties name are asked for.",
    ),
    "QUERY_PLACEMENT_FOR_ROUTED_NETWORK_AGGREGATES": env.boolean(
        "QUERY_PLACEMENT_FOR_ROUTED_NETWORK_AGGREGATES",
        False,
        "Whether only hosts in the aggregates of a routed network's segments are asked for.",
    ),
    "QUOTA_KEY_PAIRS": env.integer("QUOTA_KEY_PAIRS", 100, "Key pairs a user may have."),
    "QUOTA_SERVER_GROUPS": env.integer("QUOTA_SERVER_GROUPS", 10, "Server groups a project may have."),
    "QUOTA_SERVER_GROUP_MEMBERS": env.integer("QUOTA_SERVER_GROUP_MEMBERS", 10, "Instances a server group may have."),
    "QUOTA_RECHECK": env.boolean(
        "QUOTA_RECHECK", True, "Whether a batch that found hosts ends in ERROR if its project is over quota by then."
    ),
    "UPLOAD_STALE_S": env.number(
        "UPLOAD_STALE_S", 3600.0, "Seconds after which the file of a cut-off image upload is removed.", minimum=1.0
    ),
    "CLAIM_ROUNDS": env.integer(
        "CLAIM_ROUNDS", 10, "How often a batch is scheduled anew when others take the room first.", minimum=1
    ),
    "DECISION_MAX_BYTES": env.integer(
        "DECISION_MAX_BYTES",
        8192,
        "Bytes that the stored trace of one decision may take; above it the trace is cut to what matters most.",
        minimum=1024,
    ),
    "DECISION_SNAPSHOT_BYTES": env.integer(
        "DECISION_SNAPSHOT_BYTES",
        2048,
        "Bytes that one decision may add for the fleet it saw, before a new base is written; 0: fleets are not kept.",
    ),
    "DECISION_SNAPSHOT_DAYS": env.number(
        "DECISION_SNAPSHOT_DAYS",
        7.0,
        "Days for which the fleets that decisions saw are kept, for replays; 0: as long as the decisions.",
        minimum=0.0,
    ),
    "DECISION_RETENTION_DAYS": env.number(
        "DECISION_RETENTION_DAYS", 30.0, "Days for which decisions are kept; 0: for ever.", minimum=0.0
    ),
    "DECISION_RETENTION_COUNT": env.integer(
        "DECISION_RETENTION_COUNT", 100_000, "How many of the newest decisions are kept; 0: any number."
    ),
    "PCI_ALIASES": env.text(
        "PCI_ALIASES",
        "",
        "Names for kinds of PCI devices, for flavors to ask for by pci_passthrough:alias: JSON, the form of "
        'Nova\'s [pci]alias: [{"name": "gpu", "vendor_id": "10de", "product_id": "1eb8"}].',
    ),
    "ATTESTATION_URL": env.text(
        "ATTESTATION_URL", "", "Attestation service (https://host:port/path) that TrustedFilter believes; empty: none."
    ),
    "ATTESTATION_AUTH_BLOB": env.text("ATTESTATION_AUTH_BLOB", "", "What the attestation service knows us by."),
    "ATTESTATION_CA_FILE": env.text(
        "ATTESTATION_CA_FILE", "", "Certificates that vouch for the attestation service; empty: the system's."
    ),
    "ATTESTATION_LIFETIME_S": env.number(
        "ATTESTATION_LIFETIME_S", 60.0, "Seconds for which what the attestation service found counts.", minimum=0.0
    ),
    "ATTESTATION_TIMEOUT_S": env.number(
        "ATTESTATION_TIMEOUT_S", 5.0, "Seconds that the attestation service may take to answer.", minimum=0.1
    ),
    "PLACEMENT_TEST_IDENTITY": env.choice(
        "PLACEMENT_TEST_IDENTITY",
        ("", "legacy", "secure", "open"),
        "For Placement's published test suite: believe any X-Auth-Token, under these rules. Refused in production.",
    ),
    "PLACEMENT_CORS_ORIGINS": env.words(
        "PLACEMENT_CORS_ORIGINS", (), "Origins (https://name) whose pages may call the Placement API from a browser."
    ),
    "RANDOMIZE_ALLOCATION_CANDIDATES": env.boolean(
        "RANDOMIZE_ALLOCATION_CANDIDATES",
        False,
        "Whether a limited answer is a random sample of the candidates instead of the first ones.",
    ),
    "MAX_ALLOCATION_CANDIDATES": env.integer(
        "MAX_ALLOCATION_CANDIDATES", -1, "Candidates made for one request at most; -1: no such cap.", minimum=-1
    ),
    "ALLOCATION_CANDIDATES_STRATEGY": env.choice(
        "ALLOCATION_CANDIDATES_STRATEGY",
        ("depth-first", "breadth-first"),
        "Under that cap: all candidates of one tree after the other, or one of each tree in turn.",
    ),
    "NOTIFICATION_FORMAT": env.choice(
        "NOTIFICATION_FORMAT",
        ("versioned", "none"),
        "Form of notifications: Nova's versioned payloads, or none at all.",
    ),
    "NOTIFICATION_EVENTS": env.words(
        "NOTIFICATION_EVENTS",
        (),
        "Patterns of events (scheduler.*) that are always written and logged; others only while a webhook wants them.",
    ),
    "NOTIFICATION_LOG": env.boolean(
        "NOTIFICATION_LOG", True, "Whether each notification that is written goes to the log as well."
    ),
    "NOTIFICATION_TIMEOUT_S": env.number(
        "NOTIFICATION_TIMEOUT_S", 10.0, "Seconds that a webhook's receiver may take to answer.", minimum=0.1
    ),
    "NOTIFICATION_ATTEMPTS": env.integer(
        "NOTIFICATION_ATTEMPTS", 12, "How often an event is sent to a webhook before it is given up.", minimum=1
    ),
    "DEFAULT_ZONE": env.text("DEFAULT_ZONE", "nova", "Zone of hosts that are in no aggregate with a zone."),
    **HOST_SETTINGS,
    **LIMIT_SETTINGS,
    **PLUGIN_SETTINGS,
    **watching.WATCH_SETTINGS,
}
