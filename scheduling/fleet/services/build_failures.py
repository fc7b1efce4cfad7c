"""The failed builds of a host: counted, forgotten by and by, and at a limit the reason to disable it.

Only what was the host's own fault is counted. The weigher avoids a host from its first failure on; disabling it ends
the choice altogether, says why in the service's reason, and is taken back when enough of the failures are forgotten.
"""

import logging
from datetime import datetime, timedelta
from uuid import UUID

from django.db import connection, transaction
from django.db.models import F, Max
from django.db.models.functions import Now

from controlplane.infra.db import db_now
from controlplane.kernel.texts import phrase as _
from controlplane.work.heals import HOST_DISABLED, HOST_ENABLED, heal_record
from scheduling.conf import scheduling_options
from scheduling.fleet.domain.build_failures import HostDisableRule
from scheduling.fleet.services.notifications import emit_build_failures_disabled
from scheduling.fleet.services.service_switch import service_switch
from scheduling.models import COMPUTE_BINARY, BuildFailures, ComputeNode, Service

log = logging.getLogger(__name__)


RECENT_MAX, RECENT_REASON_MAX = 20, 300


def build_failure_count(*, host: str, reason: str = "", instance_uuid: UUID | None = None) -> None:
    """One more build failed through this host's own fault. Atomic in the database, so nothing is lost.

    Call inside a transaction: whether that makes too many is looked at once it is committed, and every round of
    `build_failures_round`, so a process that dies in between delays it only.
    """
    ComputeNode.objects.filter(host=host).update(failed_builds=F("failed_builds") + 1)
    BuildFailures.objects.update_or_create(
        host=host,
        defaults={
            "total": F("total") + 1,
            "last_failed_at": Now(),
            "decayed_at": Now(),
            "last_reason": reason[:2000],
        },
        create_defaults={"total": 1, "last_failed_at": Now(), "decayed_at": Now(), "last_reason": reason[:2000]},
    )
    _remember(host, reason, instance_uuid)
    transaction.on_commit(lambda: _judge_quietly(host))


def _remember(host: str, reason: str, instance_uuid: UUID | None) -> None:
    """Under the lock of the row that was just written."""
    row = BuildFailures.objects.get(host=host)
    failed = {
        "instance_uuid": str(instance_uuid or ""),
        "failed_at": row.last_failed_at.isoformat(),
        "reason": reason.partition("\n")[0][:RECENT_REASON_MAX],
    }
    BuildFailures.objects.filter(pk=row.pk).update(recent=[*row.recent, failed][-RECENT_MAX:])


def build_failure_reset(*, host: str) -> None:
    """A build worked: the host is trusted again. Writes only where there is something to forget.

    In SQL, since each build ends with it.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE scheduling_computenode SET failed_builds = 0 WHERE host = %s AND failed_builds > 0", [host]
        )


def build_failures_round() -> int:
    """Forget what is old, disable who has too many, enable whom that disabled. Returns how many hosts changed."""
    hosts = set(ComputeNode.objects.filter(failed_builds__gt=0).values_list("host", flat=True))
    hosts |= set(BuildFailures.objects.filter(disabled_at__isnull=False).values_list("host", flat=True))
    return sum(_judge_quietly(host) for host in sorted(hosts))


def operator_spoke(*, host: str, disabled: bool) -> None:
    """An operator disabled or enabled the host: from now on it is not this counter's to enable; enabled is trusted."""
    if not disabled:
        build_failure_reset(host=host)
    counter_gives_way(host=host)


def counter_gives_way(*, host: str) -> bool:
    """Whether the counter had the host disabled; if so, it is not the counter's to enable any more."""
    return bool(BuildFailures.objects.filter(host=host, disabled_at__isnull=False).update(disabled_at=None))


def failure_rule() -> HostDisableRule:
    """As the settings have it."""
    options = scheduling_options()
    return HostDisableRule(options.build_failures_disable, options.build_failures_half_life_s)


def _judge_quietly(host: str) -> bool:
    try:
        with transaction.atomic():
            return _judge(host)
    except Exception:
        log.exception("the failed builds of host %s could not be judged; it is tried again", host)
        return False


def _judge(host: str) -> bool:
    """Locks in the order of a host's registration: service, node, and then Placement's rows."""
    service = Service.objects.select_for_update().filter(host=host, binary=COMPUTE_BINARY).first()
    nodes = list(ComputeNode.objects.select_for_update().filter(host=host).values_list("id", flat=True))
    row = BuildFailures.objects.select_for_update().filter(host=host).first()
    if row is None or service is None or not nodes:
        return False
    rule = failure_rule()
    failed = _forget(row, rule)
    if rule.is_too_many(failed) and not service.disabled:
        _disable(row, service, failed, rule)
        return True
    if row.disabled_at is not None and service.disabled and not rule.is_too_many(failed):
        _enable(row, service, failed, rule)
        return True
    return False


def _forget(row: BuildFailures, rule: HostDisableRule) -> int:
    """Halve what counts for each half-life that passed. What still counts."""
    failed: int = ComputeNode.objects.filter(host=row.host).aggregate(maximum=Max("failed_builds"))["maximum"] or 0
    left, passed = rule.decayed(failed, quiet_s=(db_now() - row.decayed_at).total_seconds())
    if passed:
        ComputeNode.objects.filter(host=row.host, failed_builds__gt=left).update(failed_builds=left)
        decayed_at = row.decayed_at + timedelta(seconds=passed * rule.half_life_s)
        BuildFailures.objects.filter(pk=row.pk).update(decayed_at=decayed_at)
        row.decayed_at = decayed_at
    return left


def _disable(row: BuildFailures, service: Service, failed: int, rule: HostDisableRule) -> None:
    reason = _(
        "Failed {failed} builds in a row by its own fault (limit {limit}), the last at {stamp}: {last_reason}",
        failed=failed,
        limit=rule.limit,
        stamp=_stamp(row.last_failed_at),
        last_reason=row.last_reason or _("no reason given"),
    )
    service = service_switch(row.host, disabled=True, reason=reason)
    BuildFailures.objects.filter(pk=row.pk).update(disabled_at=Now())
    builds = row.recent[-failed:]
    emit_build_failures_disabled(service, reason=reason, failed=failed, limit=rule.limit, builds=builds)
    heal_record(
        kind=HOST_DISABLED,
        subject=service.pk,
        found=_("Host {host}: {reason}.", host=row.host, reason=reason),
        done=_("The host was disabled: new instances go elsewhere. {when}", when=_when(row, rule)),
        evidence=_evidence(row, failed, rule),
    )
    log.warning("host %s is disabled: %s", row.host, reason)


def _enable(row: BuildFailures, service: Service, failed: int, rule: HostDisableRule) -> None:
    service_switch(row.host, disabled=False, reason="")
    BuildFailures.objects.filter(pk=row.pk).update(disabled_at=None)
    heal_record(
        kind=HOST_ENABLED,
        subject=service.pk,
        found=_(
            "Host {host} was disabled for failed builds, of which {failed} still count (limit {limit}).",
            host=row.host,
            failed=failed,
            limit=rule.limit,
        ),
        done=_("The host was enabled: it gets new instances again, and the weigher still avoids it."),
        evidence=_evidence(row, failed, rule),
    )
    log.warning("host %s is enabled again: %d failed builds still count", row.host, failed)


def _when(row: BuildFailures, rule: HostDisableRule) -> str:
    if not rule.half_life_s:
        return _("An operator enables it, or a build on it that works.")
    at = row.decayed_at + timedelta(seconds=rule.half_life_s)
    return _(
        "Without another failure it is looked at again at {stamp}, when the failures count half.", stamp=_stamp(at)
    )


def _evidence(row: BuildFailures, failed: int, rule: HostDisableRule) -> dict[str, object]:
    return {
        "host": row.host,
        "failed_builds": failed,
        "limit": rule.limit,
        "half_life_s": rule.half_life_s,
        "total": row.total,
        "last_failed_at": row.last_failed_at.isoformat(),
        "last_reason": row.last_reason,
        "builds": row.recent[-failed:] if failed else [],
    }


def _stamp(at: datetime) -> str:
    return at.strftime("%Y-%m-%d %H:%M:%S UTC")
