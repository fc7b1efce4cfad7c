"""The ground floor's checks for `/readyz`: each with a name, a state and, where it is not fine, a reason in words.

A reason names what is wrong and never where: no address, no user, no text of a driver's error.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import redis
from django.conf import settings
from django.db import Error as DatabaseFailure
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from controlplane.infra.database_errors import is_disk_full
from controlplane.infra.db import now_plus
from controlplane.kernel.units import MIB
from controlplane.work.conf import work_options
from controlplane.work.jobs import CANARY_LEASE, RECONCILE_LEASE
from controlplane.work.metrics import conductor_queue_age_s
from controlplane.work.models import NamedLease
from controlplane.work.named_leases import lease_is_held

REDIS_TIMEOUT_S = 2.0

_migrated: set[str] = set()


class CheckState(StrEnum):
    """`skipped`: it could not be looked at, because the database is missing."""

    OK = "ok"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Check:
    """One answer. `reason` is empty where all is fine."""

    name: str
    state: CheckState
    reason: str = ""


ReadinessCheck = Callable[[], str]
"""Says why it is not fine; empty when it is. May raise an error of the database."""


def checks_run(named_checks: dict[str, ReadinessCheck]) -> list[Check]:
    """Look at each, by name. A failure of the database in one is that check's answer."""
    return [_check(name, check) for name, check in named_checks.items()]


def checks_skipped(names: list[str], reason: str) -> list[Check]:
    """The same names, not looked at."""
    return [Check(name, CheckState.SKIPPED, reason) for name in names]


def infra_checks() -> dict[str, ReadinessCheck]:
    """What the ground floor looks at, once the database answers. Redis only where it is configured."""
    named_checks: dict[str, ReadinessCheck] = {
        "migrations": migrations_missing,
        "disk": disks_full,
        "conductor": _conductor_missing,
        "reconciler": _reconciler_missing,
        "queue_age": _queue_too_old,
    }
    return named_checks | ({"redis": _redis_missing} if settings.REDIS_URL else {})


def database_missing() -> str:
    """Why there is no database; empty when it answers a query."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseFailure as error:
        return f"the database does not answer: {type(error).__name__}"
    return ""


def migrations_missing() -> str:
    """How many migrations this code has that the database has not; asked until there are none."""
    name = str(connection.settings_dict["NAME"])
    if name not in _migrated:
        executor = MigrationExecutor(connection)
        plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
        if plan:
            return f"{len(plan)} migrations are not applied"
        _migrated.add(name)
    return ""


def disks_full() -> str:
    """Of which disks of this machine too little is free: the database's, where it is a file, and the state directory's.

    What cannot be looked at is not full.
    """
    wanted = work_options().ready_disk_free_mib * MIB
    whose: dict[int, tuple[list[str], int]] = {}
    for name, path in _places().items():
        try:
            device, facts = os.stat(path).st_dev, os.statvfs(path)
        except OSError:
            continue
        whose.setdefault(device, ([], facts.f_bavail * facts.f_frsize))[0].append(name)
    full = [full_disk_words(" and ".join(names), free, wanted) for names, free in whose.values()]
    return "; ".join(reason for reason in full if reason)


def full_disk_words(whose: str, free: int, wanted: int) -> str:
    """That fewer bytes are free than there must be; empty where enough are."""
    if free >= wanted:
        return ""
    return f"the disk of {whose} is full: {free // MIB} MiB are free, below {wanted // MIB} MiB"


def _places() -> dict[str, str]:
    found = {"the state directory": str(settings.STATE_DIR)}
    if connection.vendor == "sqlite":  # in memory, it has a name that is no file's
        found = {"the database": str(connection.settings_dict["NAME"])} | found
    return found


def _check(name: str, check: ReadinessCheck) -> Check:
    try:
        reason = check()
    except DatabaseFailure as error:
        what = "the database has no room left on its disk" if is_disk_full(error) else type(error).__name__
        reason = f"{name} cannot be told: {what}"
    return Check(name, CheckState.FAILED if reason else CheckState.OK, reason)


def _conductor_missing() -> str:
    return "" if lease_is_held(CANARY_LEASE) else "no conductor answers"


def _reconciler_missing() -> str:
    silence_s = work_options().ready_reconciler_silence_s
    rows = NamedLease.objects.filter(name=RECONCILE_LEASE, until__gt=now_plus(-silence_s))
    return "" if rows.exists() else "no reconciler has been seen lately"


def _queue_too_old() -> str:
    limit, age = work_options().ready_queue_age_s, conductor_queue_age_s()
    return f"work of the conductor has waited for {age:.0f} s, the limit is {limit:g} s" if age > limit else ""


def _redis_missing() -> str:
    client = redis.Redis.from_url(
        settings.REDIS_URL, socket_timeout=REDIS_TIMEOUT_S, socket_connect_timeout=REDIS_TIMEOUT_S
    )
    try:
        client.ping()
    except redis.RedisError as error:
        return f"Redis does not answer: {type(error).__name__}"
    finally:
        client.close()
    return ""
