"""System checks of the queue's settings: combinations that would lose, double or stall work, told before it starts.

Each rule has an id, names the setting, and says what to write instead. `RULES` stop every command that runs checks;
`DEPLOY_RULES` are about speed and safety in production, and are asked by `manage.py check --deploy`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, Warning  # noqa: A004 - Django's name for it

from controlplane.infra.conf import settings_by_name
from controlplane.kernel.settings import settings_of
from controlplane.work.conf import WorkOptions, work_options

BROKER = "controlplane.work.queue_broker.WakeupBroker"
HARD_KILL_S = 3  # django-q2 ends a worker so many seconds after its timeout
REDIS_SCHEMES = ("redis", "rediss", "unix")
ENGINES = ("django.db.backends.postgresql", "controlplane.infra.sqlite3")
MIN_SQLITE_TIMEOUT_S = 5
WORKERS = settings_of(WorkOptions)["conductor_workers"]


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """What the rules look at: Q_CLUSTER, REDIS_URL, the default database, and our own numbers."""

    cluster: Mapping[str, Any]
    redis_url: str
    database: Mapping[str, Any]
    ours: Mapping[str, Any]

    def number(self, name: str) -> float:
        """A number of Q_CLUSTER, 0 where there is none."""
        value = self.cluster.get(name)
        return value if isinstance(value, int | float) and not isinstance(value, bool) else 0

    @property
    def is_sqlite(self) -> bool:
        """Whether rows, and wake-ups without Redis, are in an SQLite database."""
        return bool(self.database.get("ENGINE") == ENGINES[1])

    @property
    def min_retry(self) -> float:
        """Seconds that a job may wait behind what was read ahead, and run, before it may count as lost."""
        ahead = self.number("queue_limit") + 1
        return self.number("timeout") * (1 + math.ceil(ahead / max(1, self.number("workers"))))


@dataclass(frozen=True, slots=True)
class SettingRule:
    """`finds` gives what is wrong, beginning with the setting's name, or nothing; `instead` is what to write."""

    id: str
    finds: Callable[[QueueSettings], str | None]
    instead: Callable[[QueueSettings], str]
    kind: Callable[..., CheckMessage] = Error


def queue_problems(queue: QueueSettings, rules: Sequence["SettingRule"]) -> list[CheckMessage]:
    """What these rules have against these settings."""
    found = ((rule, rule.finds(queue)) for rule in rules)
    return [rule.kind(text, hint=rule.instead(queue), id=rule.id) for rule, text in found if text]


def _write(text: str) -> Callable[[QueueSettings], str]:
    return lambda _: text


def _key(name: str, *, wrong: Callable[[Any], bool], because: str) -> Callable[[QueueSettings], str | None]:
    """A finding about one key of Q_CLUSTER by its value alone."""

    def finds(queue: QueueSettings) -> str | None:
        value = queue.cluster.get(name)
        return f"Q_CLUSTER['{name}'] is {value!r}: {because}" if wrong(value) else None

    return finds


def _retry(queue: QueueSettings) -> str | None:
    if queue.number("retry") >= queue.min_retry:
        return None
    return (
        f"Q_CLUSTER['retry'] ({queue.number('retry'):g} s) is below {queue.min_retry:g} s, the timeout "
        f"({queue.number('timeout'):g} s) and the waits that a job may have before it: a running job would be given "
        "to a second worker."
    )


def _guard_cycle(queue: QueueSettings) -> str | None:
    cycle, timeout = queue.number("guard_cycle"), queue.number("timeout")
    silence_s = work_options().conductor_guard_silence_s
    if not 0 < cycle < silence_s:
        limit = f"{silence_s:g} s, the limit of the guard's own heartbeat (CONDUCTOR_GUARD_SILENCE_S)"
        return f"Q_CLUSTER['guard_cycle'] ({cycle:g} s) is not between 0 and {limit}."
    turns = (timeout + HARD_KILL_S) / cycle
    if abs(turns - round(turns)) < 1e-6:
        return None
    return (
        f"Q_CLUSTER['guard_cycle'] ({cycle:g} s) does not divide {timeout + HARD_KILL_S:g} s, timeout and "
        f"{HARD_KILL_S} s: the guard steps over the moment in which it would end a hung worker, and never does."
    )


def _read_ahead(queue: QueueSettings) -> str | None:
    limit, workers = queue.number("queue_limit"), max(1, queue.number("workers"))
    if 1 <= limit <= workers:
        return None
    why = "0 means no limit" if limit < 1 else f"above the number of workers ({workers:g})"
    return f"Q_CLUSTER['queue_limit'] is {limit:g}, {why}: what is read ahead waits for the reconciler after a kill."


def _redis_url(queue: QueueSettings) -> str | None:
    if not queue.redis_url:
        return None
    parts = urlsplit(queue.redis_url)
    if parts.scheme not in REDIS_SCHEMES:
        return f"REDIS_URL begins with {parts.scheme or 'no scheme'!r}: it is not the address of a Redis server."
    if not (parts.path if parts.scheme == "unix" else parts.hostname):
        return "REDIS_URL names no server."
    return None


def _own_broker(queue: QueueSettings) -> str | None:
    extra = sorted({"redis", "django_redis", "sqs", "iron_mq", "mongo"} & set(queue.cluster))
    return f"Q_CLUSTER[{extra[0]!r}] has no effect: wake-ups go where REDIS_URL or DATABASE_URL say." if extra else None


def _engine(queue: QueueSettings) -> str | None:
    engine = queue.database.get("ENGINE")
    return None if engine in ENGINES else f"DATABASE_URL leads to {engine!r}, where nobody can wait for a wake-up."


def _pool(queue: QueueSettings) -> str | None:
    has_pool = bool(queue.database.get("OPTIONS", {}).get("pool"))
    return "DATABASES['default'] has a pool: its connections break when workers are forked." if has_pool else None


def _transaction_pooler(queue: QueueSettings) -> str | None:
    is_suspect = not queue.is_sqlite and not queue.redis_url and queue.database.get("DISABLE_SERVER_SIDE_CURSORS")
    if not is_suspect:
        return None
    return (
        "DATABASES['default'] has DISABLE_SERVER_SIDE_CURSORS, as behind a pooler in transaction mode: LISTEN does not "
        "reach through one, and work would begin with the safety poll, seconds late."
    )


def _connections(queue: QueueSettings) -> str | None:
    if queue.database.get("CONN_MAX_AGE") == 0:
        return "DATABASES['default']['CONN_MAX_AGE'] is 0: each look at the queue would open a connection anew."
    return None


def _sqlite_options(queue: QueueSettings) -> str | None:
    if not queue.is_sqlite or _is_in_memory(queue.database):
        return None
    options = queue.database.get("OPTIONS", {})
    lacks = [
        what
        for what, is_there in (
            ("transaction_mode IMMEDIATE", options.get("transaction_mode") == "IMMEDIATE"),
            ("journal_mode=WAL", "journal_mode=wal" in str(options.get("init_command", "")).lower()),
            (f"timeout of {MIN_SQLITE_TIMEOUT_S} s", options.get("timeout", 0) >= MIN_SQLITE_TIMEOUT_S),
        )
        if not is_there
    ]
    return (
        f"DATABASES['default']['OPTIONS'] lacks {', '.join(lacks)}: writers would refuse each other." if lacks else None
    )


def _is_in_memory(database: Mapping[str, Any]) -> bool:
    name = str(database.get("NAME", ""))
    return ":memory:" in name or "mode=memory" in name


def _shorter(low: str, high: str, because: str) -> Callable[[QueueSettings], str | None]:
    """A finding when setting `low` is not below setting `high`."""

    def finds(queue: QueueSettings) -> str | None:
        less, more = queue.ours[low], queue.ours[high]
        return None if less < more else f"{high} ({more:g} s) is not above {low} ({less:g} s): {because}"

    return finds


RULES: tuple[SettingRule, ...] = (
    SettingRule(
        "queue.E001",
        _key("name", wrong=lambda v: not (isinstance(v, str) and v), because="jobs are signed with it."),
        _write("A word that all processes share, for example 'name': 'kilonova'."),
    ),
    SettingRule(
        "queue.E002",
        _key(
            "ALT_CLUSTERS", wrong=lambda v: not isinstance(v, dict), because="Q_CLUSTER_NAME would end in a KeyError."
        ),
        _write("Write 'ALT_CLUSTERS': {}."),
    ),
    SettingRule(
        "queue.E003",
        _key("cluster_name", wrong=lambda v: v is not None, because="each process knows the queue that it serves."),
        _write("Leave it out."),
    ),
    SettingRule(
        "queue.E004",
        _key("broker_class", wrong=lambda v: v != BROKER, because="other brokers carry code to run, and lose it."),
        _write(f"Write 'broker_class': '{BROKER}'."),
    ),
    SettingRule(
        "queue.E005",
        _key(
            "workers",
            wrong=lambda v: not isinstance(v, int) or bool(WORKERS.out_of_bounds(v)),
            because="nobody would work.",
        ),
        _write(f"Set {WORKERS.name} to {WORKERS.min_value:g} or more."),
    ),
    SettingRule(
        "queue.E006",
        _key("timeout", wrong=lambda v: not isinstance(v, int) or v < 1, because="a hung worker would never be ended."),
        _write("Whole seconds, more than a worker ever needs: 'timeout': 300."),
    ),
    SettingRule("queue.E007", _retry, lambda queue: f"Write 'retry': {queue.min_retry:g} or more."),
    SettingRule(
        "queue.E008",
        _key("ack_failures", wrong=lambda v: v is not True, because="a job that failed would run again for ever."),
        _write("Write 'ack_failures': True; the work row and the reconciler try again."),
    ),
    SettingRule(
        "queue.E009",
        _key("max_attempts", wrong=lambda v: v != 1, because="attempts are counted in the work row, not by the queue."),
        _write("Write 'max_attempts': 1."),
    ),
    SettingRule("queue.E010", _read_ahead, _write("Write 'queue_limit': 1.")),
    SettingRule("queue.E011", _guard_cycle, _write("Write 'guard_cycle': 0.5 and a timeout of whole seconds.")),
    SettingRule(
        "queue.E012",
        _key("scheduler", wrong=lambda v: v is not False, because="who may write a schedule could run any code."),
        _write("Write 'scheduler': False; clean-ups are periodic tasks of the reconciler."),
    ),
    SettingRule(
        "queue.E013",
        _key("sync", wrong=bool, because="work would run in the process that asked for it."),
        _write("Leave it out."),
    ),
    SettingRule(
        "queue.E014",
        _key("recycle", wrong=lambda v: not isinstance(v, int) or v < 1, because="workers would start anew each time."),
        _write("Write 'recycle': 500."),
    ),
    SettingRule(
        "queue.E015", _redis_url, _write("For example REDIS_URL=redis://127.0.0.1:6379/0; empty for no Redis.")
    ),
    SettingRule("queue.E016", _engine, _write("DATABASE_URL=postgres://USER:PASSWORD@HOST/NAME or sqlite:///FILE.")),
    SettingRule("queue.E017", _pool, _write("Take 'pool' out of its OPTIONS and write 'CONN_MAX_AGE': None.")),
    SettingRule("queue.E018", _sqlite_options, _write("Use controlplane.settings.base.database(), which sets them.")),
    SettingRule(
        "queue.E019",
        _shorter("REPORT_INTERVAL_S", "LEASE_S", "an agent would lose its work between two signs of life."),
        lambda queue: f"Set LEASE_S to {3 * queue.ours['REPORT_INTERVAL_S']:g}, three report intervals, or more.",
    ),
    SettingRule(
        "queue.E020",
        _shorter("LEASE_S", "BUILD_DEADLINE_S", "a build cut off once could never be taken over in time."),
        lambda queue: f"Set BUILD_DEADLINE_S to {10 * queue.ours['LEASE_S']:g}, ten leases, or more.",
    ),
    SettingRule(
        "queue.E021",
        _shorter("RECONCILE_INTERVAL_S", "LEASE_S", "expired leases would be found later than they last."),
        _write("Set RECONCILE_INTERVAL_S to 2."),
    ),
    SettingRule(
        "queue.E022",
        _shorter("NOTIFICATION_TIMEOUT_S", "NOTIFICATION_DEADLINE_S", "an event would be given up in its first try."),
        _write("Set NOTIFICATION_DEADLINE_S to 86400, a day."),
    ),
    SettingRule(
        "queue.W001",
        _key("save_limit", wrong=lambda v: v != -1, because="results of wake-ups say nothing and cost writes."),
        _write("Write 'save_limit': -1."),
        Warning,
    ),
    SettingRule(
        "queue.W002",
        _key("poll", wrong=lambda v: v is not None, because="it has no effect; processes wait on wake-ups."),
        _write("Leave it out."),
        Warning,
    ),
    SettingRule("queue.W003", _own_broker, _write("Leave it out; set REDIS_URL for wake-ups through Redis."), Warning),
)

DEPLOY_RULES: tuple[SettingRule, ...] = (
    SettingRule("queue.W004", _connections, _write("Write 'CONN_MAX_AGE': None."), Warning),
    SettingRule(
        "queue.W005",
        _transaction_pooler,
        _write("Give conductor and agents a DATABASE_URL past the pooler, or set REDIS_URL."),
        Warning,
    ),
)


def queue_settings() -> QueueSettings:
    """The settings of this process."""
    return QueueSettings(
        cluster=getattr(settings, "Q_CLUSTER", {}),
        redis_url=settings.REDIS_URL,
        database=settings.DATABASES["default"],
        ours=settings_by_name(),
    )


def check_queue(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Entry point of Django's check framework."""
    return queue_problems(queue_settings(), RULES)


def check_queue_for_deploy(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Entry point of Django's check framework for `check --deploy`."""
    return queue_problems(queue_settings(), DEPLOY_RULES)


def register_all() -> None:
    """Called once by the app config."""
    checks.register(check_queue, "queue")
    checks.register(check_queue_for_deploy, "queue", deploy=True)
