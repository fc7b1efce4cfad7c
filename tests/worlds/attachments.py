"""Pools, volumes in them, and who reaches them, as rows."""

import uuid
from collections.abc import Collection
from typing import Any

from django.db.models.functions import Now

from computeagent.protocol.volumes import PoolAbility, PoolKind
from servers.models import StoragePool, StoragePoolHost, Volume
from servers.volumes.domain.states import VolumeState

ALL_ABILITIES = tuple(ability.value for ability in PoolAbility)


def pool_row(
    name: str = "shared",
    *hosts: str,
    kind: PoolKind = PoolKind.FILE,
    host: str = "",
    abilities: Collection[str] = ALL_ABILITIES,
) -> StoragePool:
    """A pool that these hosts reach."""
    pool = StoragePool.objects.create(name=name, kind=kind.value, host=host, abilities=list(abilities))
    for each in hosts:
        StoragePoolHost.objects.create(pool=pool, host=each, reported_at=Now())
    return pool


def volume_in(pool: StoragePool | None, project_id: uuid.UUID, **fields: Any) -> Volume:
    """A volume of this project that is there."""
    defaults: dict[str, Any] = {"size_gib": 1, "state": VolumeState.AVAILABLE.value, "name": "data"}
    return Volume.objects.create(pool=pool, project_id=project_id, user_id=uuid.uuid4(), **{**defaults, **fields})
