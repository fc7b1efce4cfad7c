"""What administrators say of a pool: whether it gets new volumes, and how much of it is promised."""

import uuid
from collections.abc import Mapping
from typing import Any

from django.db.models import Q
from django.db.models.functions import Now

from controlplane.audit_log.recording.audited import audited
from controlplane.infra.db import in_transaction
from controlplane.kernel.errors import Conflict, InvalidFields
from controlplane.kernel.texts import phrase as _
from servers.fields import refuse_if, whole_number_reasons
from servers.models import StoragePool, Volume
from servers.volumes.domain.errors import StoragePoolNotFound
from servers.volumes.selectors.pools import pool_get
from servers.volumes.services.pools import pool_inventory_set, pool_withdraw

CHANGEABLE = ("is_enabled", "allocation_ratio", "reserved_gib")
MAX_RATIO = 1000.0


@audited("storage_pool.update", StoragePool, by="pool_id")
def pool_update(*, pool_id: uuid.UUID, changes: Mapping[str, Any]) -> StoragePool:
    """Change some of CHANGEABLE, for administrators, which the policy of the door decides. What is promised stays.

    Raises StoragePoolNotFound, InvalidFields.
    """
    if unknown := {name: [_("Cannot be changed.")] for name in changes if name not in CHANGEABLE}:
        raise InvalidFields(unknown)
    ratio = changes.get("allocation_ratio", 1.0)
    refuse_if(
        {
            "allocation_ratio": []
            if 0 < ratio <= MAX_RATIO
            else [_("Is {ratio}; it is above 0 and at most {max_ratio}.", ratio=ratio, max_ratio=MAX_RATIO)],
            "reserved_gib": whole_number_reasons(changes.get("reserved_gib", 0), minimum=0),
        }
    )

    def work() -> StoragePool:
        row = StoragePool.objects.select_for_update().filter(pk=pool_id).first()
        if row is None:
            raise StoragePoolNotFound(_("Storage pool {pool_id} does not exist.", pool_id=pool_id))
        StoragePool.objects.filter(pk=pool_id).update(**changes, updated_at=Now())
        row.refresh_from_db()
        pool_inventory_set(row)
        return pool_get(pool_id=pool_id)

    return in_transaction(work)


@audited("storage_pool.delete", StoragePool, by="pool_id")
def pool_delete(*, pool_id: uuid.UUID) -> None:
    """Forget a pool that no host reaches and no volume is in. Raises StoragePoolNotFound, Conflict."""

    def work() -> None:
        row = StoragePool.objects.select_for_update().filter(pk=pool_id).first()
        if row is None:
            raise StoragePoolNotFound(_("Storage pool {pool_id} does not exist.", pool_id=pool_id))
        of_pool = Q(pool=row) | Q(wanted_pool=row) | Q(left_pool=row)
        volumes, hosts = Volume.objects.filter(of_pool).count(), row.hosts.count()
        if volumes or hosts:
            raise Conflict(
                _(
                    "Pool {row} has {volumes} volumes, and {hosts} hosts report it.",
                    row=row,
                    volumes=volumes,
                    hosts=hosts,
                ),
                volumes=volumes,
                hosts=hosts,
            )
        pool_withdraw(row)
        row.delete()

    in_transaction(work)
