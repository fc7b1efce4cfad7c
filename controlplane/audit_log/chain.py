"""The chain: entries get their numbers and hashes in order, by one process at a time, after they were committed.

Whoever changes something only appends a row, so writers never wait for one another. Until the next round an entry
stands outside of the chain, and what happens to it there cannot be proved; `docs/audit-log.md` says so.
"""

import logging
from typing import Any

from django.db import transaction
from django.db.models import Min

from controlplane.audit_log.conf import audit_log_options
from controlplane.audit_log.entry_hash import CONTENT, entry_hash
from controlplane.audit_log.models import AuditLogChain, AuditLogEntry
from controlplane.audit_log.recording.actor_scope import CONTROL_PLANE, SYSTEM
from controlplane.audit_log.recording.record import AuditChange, AuditTarget, change_record
from controlplane.infra.db import now_plus, rows_run
from controlplane.infra.retention import DAY_S

log = logging.getLogger(__name__)
CHAIN_EVERY_S = 5.0
BATCH = 500
NOT_CHAINED = "EXISTS (SELECT 1 FROM audit_log_auditlogentry WHERE number IS NULL)"
PRUNE_BATCH = 5000


def chain_extend() -> int:
    """Take all committed entries into the chain that are not in it. Returns how many. Killed or run twice, it goes on
    where the chain ends.
    """
    taken = 0
    while batch := _batch_chain():
        taken += batch
    if taken:
        chain = AuditLogChain.objects.get(pk=1)
        # A copy of the log elsewhere holds the chain's end, against which it can be verified.
        log.info("audit log: entry %d has the hash %s", chain.head_number, chain.head_hash)
    return taken


@transaction.atomic
def _batch_chain() -> int:
    chain = chain_locked()
    rows = list(AuditLogEntry.objects.filter(number__isnull=True).order_by("id")[:BATCH])
    links: list[tuple[Any, ...]] = []
    for row in rows:
        number, previous = chain.head_number + 1, chain.head_hash
        content = {name: getattr(row, name) for name in CONTENT}
        chain.head_number, chain.head_hash = number, entry_hash(content, number=number, previous=previous)
        links.append((row.pk, number, previous, chain.head_hash))
    _links_write(links)
    if links:
        chain.save(update_fields=["head_number", "head_hash"])
    return len(links)


def _links_write(links: list[tuple[Any, ...]]) -> None:
    if links:
        rows_run(
            "WITH links (id, number, previous, hash) AS ({rows}) UPDATE audit_log_auditlogentry "
            "SET number = links.number, previous_hash = links.previous, hash = links.hash FROM links "
            "WHERE audit_log_auditlogentry.id = links.id AND audit_log_auditlogentry.number IS NULL",
            links,
            types=("bigint", "bigint", "text", "text"),
            has_result=False,
        )


def chain_locked() -> AuditLogChain:
    """The chain's row, locked until the caller's transaction ends."""
    AuditLogChain.objects.bulk_create([AuditLogChain(pk=1)], ignore_conflicts=True)
    return AuditLogChain.objects.select_for_update().get(pk=1)


def audit_log_prune() -> int:
    """Remove the oldest entries that are older than AUDIT_LOG_RETENTION_DAYS (0: none), from the chain's beginning.

    The chain's row says where the rest begins, and an entry says what was removed. Returns how many.
    """
    days = audit_log_options().audit_log_retention_days
    removed = 0
    while days and (batch := _batch_prune(days)):
        removed += batch
    return removed


@transaction.atomic
def _batch_prune(days: float) -> int:
    chain = chain_locked()
    entries = AuditLogEntry.objects.filter(number__isnull=False)
    young = entries.filter(occurred_at__gte=now_plus(-days * DAY_S)).aggregate(first=Min("number"))["first"]
    last = min(chain.pruned_number + PRUNE_BATCH, chain.head_number if young is None else young - 1)
    if last <= chain.pruned_number:
        return 0
    began = chain.pruned_number + 1
    chain.pruned_hash = entries.values_list("hash", flat=True).get(number=last)
    chain.pruned_number = last
    chain.save(update_fields=["pruned_number", "pruned_hash"])
    removed = entries.filter(number__lte=last)._raw_delete("default")
    after = {"first": began, "last": last, "hash": chain.pruned_hash}
    change_record(
        AuditChange("audit_log.prune", AuditTarget("audit_log"), after=after), actor=CONTROL_PLANE, door=SYSTEM
    )
    return int(removed)
