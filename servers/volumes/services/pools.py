"""Pools come with the hosts that report them, and are offered by Placement.

A pool stays, with all that an administrator said of it, though no host reports it any more: its volumes are there
still. One that is not what it was (a directory that is not mounted) is a problem of the host that reports it, and never
an empty pool.
"""

import uuid
from collections.abc import Mapping, Sequence

from django.db.models import Q
from django.db.models.functions import Now

from computeagent.protocol.volumes import PoolAbility, PoolReport
from controlplane.kernel.errors import Invalid
from controlplane.kernel.texts import phrase as _
from placement.domain import InventorySpec, ProviderKind
from placement.selectors import provider_find
from placement.services import (
    inventory_set,
    provider_aggregates_set,
    provider_delete,
    provider_ensure,
    provider_traits_set,
)
from servers.models import StoragePool, StoragePoolHost
from servers.volumes.domain.pools import SHARING, VOLUME_GB, pool_trait, provider_name, whole_gib

NAME_MAX = 64
IDENTITY_MAX = 255
SENTENCE_MAX = 500
POOLS_MAX = 64
BYTES_MAX = 2**60
"""An inventory counts up to 2**31 GiB."""


def pools_report(*, host: str, reports: Sequence[PoolReport]) -> frozenset[str]:
    """Write which pools a host reaches, and what it says of them: each time all of them. In the caller's transaction.

    Answers the traits of the host's compute node: one for each that it reaches without a problem. Raises Invalid.
    """
    _check(reports)
    reached: dict[uuid.UUID, str] = {}
    for report in sorted(reports, key=lambda each: each.name):
        if report.is_client:
            reached |= _others_pool(host, report)
            continue
        pool = _pool_of(host, report)
        problem = report.problem or _is_another(pool, report, host)
        if not problem:
            _write(pool, report)
        reached[pool.pk] = problem.replace("\0", "")[:SENTENCE_MAX]
    _hosts_write(host, reached)
    return frozenset(pool_trait(pk) for pk, problem in reached.items() if not problem)


def pools_offer(*, host: str, compute_node_uuid: uuid.UUID) -> None:
    """Have Placement offer the pools that a host reaches. Its own are below its compute node, which is there already.

    Nothing is written where all is so already. In the caller's transaction.
    """
    for pool in StoragePool.objects.filter(Q(host=host) | Q(host="", hosts__host=host, hosts__problem="")):
        pool_offer(pool, parent=compute_node_uuid if pool.host else None)


def pool_offer(pool: StoragePool, *, parent: uuid.UUID | None) -> None:
    """The pool's provider and inventory."""
    kind = ProviderKind.NESTED if parent is not None else ProviderKind.OTHER
    provider_ensure(pool.pk, provider_name(pool.name, pool.host), parent, kind=kind)
    provider_traits_set(pool.pk, set() if pool.host else {SHARING})
    if not pool.host:  # whose hosts are in this aggregate, too
        provider_aggregates_set(pool.pk, {pool.pk})
    pool_inventory_set(pool)


def pool_inventory_set(pool: StoragePool) -> None:
    """Offer what its hosts measured, less what an administrator reserved. One that never said how large it is, or that
    has no provider yet, offers nothing.
    """
    total = whole_gib(pool.total_bytes)
    if total and provider_find(pool.pk) is not None:
        spec = InventorySpec(
            total=total,
            reserved=min(pool.reserved_gib, total),
            max_unit=total,
            allocation_ratio=pool.allocation_ratio,
        )
        inventory_set(pool.pk, {VOLUME_GB: spec})


def pool_withdraw(pool: StoragePool) -> None:
    """Offer nothing of it any more. Raises ProviderInUse while anything is claimed of it."""
    provider_delete(pool.pk)


def host_pools_forget(*, host: str) -> None:
    """The host is removed: it reaches nothing any more, and its own pools go, in which there is no volume."""
    StoragePoolHost.objects.filter(host=host).delete()
    for pool in StoragePool.objects.filter(host=host):
        pool_withdraw(pool)
        pool.delete()


def _check(reports: Sequence[PoolReport]) -> None:
    names = [report.name for report in reports]
    if len(names) > POOLS_MAX or len(set(names)) < len(names):
        raise Invalid(
            _("A host has at most {pools_max} pools, each with a name of its own.", pools_max=POOLS_MAX), field="pools"
        )
    for report in reports:
        if not report.name.strip() or len(report.name) > NAME_MAX or not report.name.isprintable():
            raise Invalid(
                _("A pool has a name of 1 to {name_max} printable characters.", name_max=NAME_MAX), field="pools"
            )
        if len(report.identity) > IDENTITY_MAX or "\0" in report.identity:
            raise Invalid(
                _("A pool's identity has at most {identity_max} characters.", identity_max=IDENTITY_MAX), field="pools"
            )
        if not 0 <= report.total_bytes <= BYTES_MAX or not 0 <= report.free_bytes <= BYTES_MAX:
            raise Invalid(
                _("Pool {report} has less than nothing, or more than there is.", report=report.name), field="pools"
            )


def _pool_of(host: str, report: PoolReport) -> StoragePool:
    said = {"kind": report.kind.value, "identity": report.identity}
    owner = "" if report.is_shared else host
    return StoragePool.objects.get_or_create(name=report.name, host=owner, defaults=said)[0]


def _others_pool(host: str, report: PoolReport) -> dict[uuid.UUID, str]:
    """The pool that another host stores, and why this one cannot use it; nothing before its own host reported it."""
    pools = StoragePool.objects.exclude(host="").exclude(host=host).filter(kind=report.kind.value, name=report.name)
    known = Q(identity=report.identity) if report.identity else Q(hosts__host=host)
    problem = report.problem.replace("\0", "")[:SENTENCE_MAX]
    return {pool.pk: problem for pool in pools.filter(known).order_by("created_at")[:1]}


def _is_another(pool: StoragePool, report: PoolReport, host: str) -> str:
    """Why this host does not mean the pool that is known by the name; empty where it does."""
    if report.is_shared and not report.identity:
        return _("It does not say what it is, so nobody can tell that it is the one that other hosts mean.")
    if (pool.kind, pool.identity) == (report.kind.value, report.identity):
        return ""
    others = StoragePoolHost.objects.filter(pool=pool, problem="").exclude(host=host)
    if not pool.volumes.exists() and not others.exists():
        return ""  # it may be what it likes: nothing is lost
    if pool.kind != report.kind.value:
        return _(
            "It is of kind {kind} here, and pool {pool} is of kind {pool_kind}.",
            kind=report.kind.value,
            pool=pool.name,
            pool_kind=pool.kind,
        )
    return _(
        "It is another one than it was: {identity} instead of {identity_2}. A directory may be not mounted.",
        identity=report.identity or _("without identity"),
        identity_2=pool.identity or _("one without identity"),
    )


def _write(pool: StoragePool, report: PoolReport) -> None:
    StoragePool.objects.filter(pk=pool.pk).update(
        kind=report.kind.value,
        identity=report.identity,
        total_bytes=report.total_bytes,
        free_bytes=report.free_bytes,
        abilities=[ability.value for ability in PoolAbility if ability in report.abilities],
        lacks=[lack.replace("\0", "")[:SENTENCE_MAX] for lack in report.lacks],
        reported_at=Now(),
        updated_at=Now(),
    )


def _hosts_write(host: str, reached: Mapping[uuid.UUID, str]) -> None:
    StoragePoolHost.objects.filter(host=host).exclude(pool__in=reached).delete()
    StoragePoolHost.objects.bulk_create(
        [
            StoragePoolHost(pool_id=pk, host=host, problem=problem, reported_at=Now())
            for pk, problem in sorted(reached.items())
        ],
        update_conflicts=True,
        unique_fields=["pool", "host"],
        update_fields=["problem", "reported_at"],
    )
